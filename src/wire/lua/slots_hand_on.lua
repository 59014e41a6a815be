-- Gives back whatever an owner has of a semaphore here, its place in line and its slot, and hands the slot on in the same step: as hand_on.lua does.
-- KEYS[1] name; what is kept beside it: see slots_ask.lua
-- ARGV[1] owner  ARGV[2] number of slots  ARGV[3] the slot that it is believed to have; 0 not known  ARGV[4] a slot that it keeps if it has it; 0 none
-- Answers as release.lua: 1 it was the owner's, 0 held by another owner, -1 nothing there, -5 an operator had broken it.
local call, lock, name, args = redis.call, KEYS[1], KEYS[1], ARGV
-- include parts/keys.lua
local owner, count, slot, kept_slot = args[1], args[2] + 0, args[3] + 0, args[4] + 0
-- include parts/slot_keys.lua
-- include parts/slots_end.lua
local values = call('MGET', order_key, unpack(slot_keys))
local kept_order = values[1]
-- Most slots are given back by their owner while nobody is in line.
if not kept_order and kept_slot == 0 and values[slot + 1] == owner and redis.pcall('HGET', name, 'slots') == args[2] then
    local others = 0
    for i = 1, count do
        others = others + (values[i + 1] and 1 or 0)
    end
    call('HDEL', name, slot)
    if others == 1 then
        call('DEL', name)
    else
        end_name(values, 1, slot)
    end
    return call('DEL', slot_keys[slot])
end
local kept = call('MGET', epoch_key, fence_key, floor_key, checked_key)
local epoch, last, floor, checked = kept[1], kept[2], tonumber(kept[3] or ''), kept[4]
local random = string.sub(owner, 1, 32)
local held = {}
-- include parts/slot_notes.lua
-- include parts/slots_kind.lua
if kept_order and call('ZREM', base .. 'waiters', random) == 1 then
    call('DEL', base .. random)
end
if words and of_others then
    -- A semaphore of another number of slots: what the owner has of it, if anything, is not what is given back.
    return 0
end
local mark = 'broken|' .. owner
for i = 1, count do
    held[i] = values[i + 1]
end
local value = held[slot]
local mine = (value == owner or value == mark) and slot or nil
if not mine or mine == kept_slot then
    mine = find_slot(owner, kept_slot) or find_slot(mark, kept_slot) or mine
end
local broken = mine and (value == mark or held[mine] == mark)
local answer = broken and -5 or mine and 1 or value and 0 or -1
local had = mine
if mine == kept_slot then
    mine = nil
end
local known = floor
if last then
    known = tonumber(last)
end
-- A node that must not vote hands nothing on either, nor does one where the name is something else by now.
local fit = epoch and floor and floor >= 0 and floor < 9007199254740990 and known and known < 9007199254740990 and not words
local given
if kept_order and fit then
    local time = call('TIME')
    local now = time[1] * 1000000 + time[2]
    -- include parts/same_master.lua
    -- include parts/order.lua
    local stored = known > floor and known or floor
    -- include parts/slots_hand_on.lua
    if not is_same then
        given = nil
    elseif mine then
        given = hand_on(mine, 0)
    elseif not had then
        for i = 1, count do
            if not held[i] then
                local _, _, _, since = note(i)
                hand_on(i, tonumber(since or '0'))
            end
        end
    end
end
if mine and not given then
    call('DEL', slot_keys[mine])
    if not words then
        call('HDEL', name, mine)
    end
end
-- Also where the owner had none: its slot may have been lost here, or given back for another one.
if not words and not given and call('EXISTS', unpack(slot_keys)) == 0 then
    call('DEL', name)
elseif mine and not words and not given then
    end_name(held, 0, mine)
end
return answer

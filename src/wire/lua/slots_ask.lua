-- One vote of a guarded node on a semaphore: gives the caller one slot, if the node is fit to vote, a slot is free and nobody is before the caller. A
-- vote is always for one slot, which the answer names: votes for one slot of a quorum are the permit, and nothing else is. An owner has at most one slot at a node. The line, and what a caller that waits is told, are
-- as in ask.lua.
-- KEYS[1] name; what is kept beside it: see parts/keys.lua, of the slots parts/slots.lua, and of the line parts/order.lua
-- ARGV[1] to ARGV[6] as in ask.lua  ARGV[7] number of slots  ARGV[8] the slot that it would like best  ARGV[9] 1: that one and no other, also
-- if it has another one here, which it gives back; 0 any
-- Answers  {1, now, fence, slot}           granted
--          {0, now, fence, pttl, owner}    held, and it does not stand in line; the owner is the one that has the slot that it likes best
--          {0, now, fence, pttl, owner, place, ticket, ticket of the owner}    as in ask.lua
--          {-3, now}                       epoch: this node is not what the client takes it for
--          {-4, now}                       late
--          WRONGTYPE                       the name is another kind of lock, or a semaphore of another number of slots
local call, lock, name, args = redis.call, KEYS[1], KEYS[1], ARGV
-- include parts/keys.lua
local owner, ttl, text, record, not_after, place = args[1], args[2], args[3], args[4], args[5], args[6]
local count, wish, only = args[7] + 0, args[8] + 0, args[9] == '1'
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- include parts/slot_keys.lua
local kept = call('MGET', epoch_key, fence_key, floor_key, order_key, checked_key, unpack(slot_keys))
local epoch, last, floor, kept_order, checked = kept[1], kept[2], kept[3], kept[4], kept[5]
-- include parts/fit.lua
-- include parts/stored.lua
-- include parts/slots_take.lua
-- include parts/slots_kind.lua
if words then
    return redis.error_reply('WRONGTYPE the name is in use for ' .. words .. ', not for a semaphore of ' .. count .. ' slots')
end
-- include parts/order.lua
do
    local held, any_free = {}, false
    -- include parts/slot_notes.lua
    local random = string.sub(owner, 1, 32)
    local ticket, settled, lease, channel = string.match(place, '^(%d+) ([0-3]) (%d+) (%S*)$')
    local yields = settled == '2' or settled == '3'
    for i = 1, count do
        held[i] = kept[i + 5]
    end
    local mine = find_slot(owner)
    if mine and (yields or only and mine ~= wish) then
        call('DEL', slot_keys[mine])
        call('HDEL', name, mine)
        held[mine] = false
        mine = nil
    end
    if mine then
        -- It has been heard of: this confirms what it was handed.
        if call('PTTL', slot_keys[mine]) < ttl + 0 then
            call('PEXPIRE', slot_keys[mine], ttl)
        end
        local number, _, id = note(mine)
        if not number or id ~= random or not last or number + 0 < floor then
            -- include parts/number.lua
            -- include parts/store.lua
            number = text
        end
        write_note(mine, number, ticket or '0', random, '0')
        keep_name(ttl)
        return {1, now, number + 0, mine}
    end
    local function next_free()
        for i = wish, wish + (only and 0 or count - 1) do
            local slot = (i - 1) % count + 1
            if not held[slot] then
                return slot
            end
        end
    end
    local free = next_free()
    if kept_order or (ticket and not free) then
        if ticket then
            local mark, tail = '', ' ' .. (only and wish or 0)
            -- The number in its record is above what was there when it came into line, and stays so.
            if text + 0 <= stored then
                local before = string.match(call('GET', base .. random) or '', '^%d+ (%d+) ')
                if not before then
                    text = string.format('%.0f', stored + 1)
                elseif before + 0 > text + 0 then
                    text = before
                end
            end
            -- include parts/take_in.lua
        end
        -- Whatever is free goes to the first in line that takes it, the slot that the caller likes best first.
        local got, number
        for i = 1, count do
            any_free = any_free or not held[i]
        end
        if any_free and not yields then
            -- include parts/slots_hand_on.lua
            for i = wish, wish + count - 1 do
                local slot = (i - 1) % count + 1
                if not held[slot] then
                    local _, _, _, given = note(slot)
                    local who, fence = hand_on(slot, tonumber(given or '0'))
                    if who == owner then
                        got, number = slot, fence
                    end
                end
            end
        end
        if got then
            return {1, now, number, got}
        end
        free = next_free()
        if ticket then
            -- include parts/rank.lua
            local left = -1
            if free and not yields then
                left = 100 -- there is somebody before it whom this user may not tell: both ask again soon
            elseif not yields and (rank <= 2 or only) then
                for i = 1, count do
                    local ms = (not only or i == wish) and call('PTTL', slot_keys[i]) or -1
                    if ms >= 0 and (left < 0 or ms < left) then
                        left = ms
                    end
                end
            end
            local _, theirs, id = note(wish)
            local holder = held[wish] or ''
            if id ~= string.sub(holder, 1, 32) then
                theirs = 0
            end
            return {0, now, stored, left, string.sub(holder, 1, 511), rank, ticket + 0, theirs + 0}
        end
    end
    if not free then
        return {0, now, stored, call('PTTL', slot_keys[wish]), string.sub(held[wish] or '', 1, 511)}
    end
    -- include parts/number.lua
    -- include parts/store.lua
    call('SET', slot_keys[free], owner, 'PX', ttl)
    write_note(free, text, ticket or '0', random, '0')
    keep_name(ttl)
    return {1, now, fence, free}
end

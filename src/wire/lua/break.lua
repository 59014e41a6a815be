-- Ends somebody's hold by an operator's order, if that owner has it here. Others are kept out for a moment longer, by a mark in
-- place of the owner value: a holder that is alive finds it when it renews, is told, and takes the mark away. A mark ends by
-- itself, no later than the hold would have.
-- KEYS[1] lock  [KEYS[2] order: guarded nodes only, where it may be a semaphore]   ARGV[1] owner  ARGV[2] how long others are kept out at most, in ms; 0 not at all
-- Answers 1 done, 0 held by another owner, -1 nothing there.
local call, lock = redis.call, KEYS[1]
-- Puts the mark in place of a hold that is a text, for no longer than the hold would have lasted; at once: nothing is left.
local function mark_text(key, mark)
    local grace, left = tonumber(ARGV[2]), call('PTTL', key)
    if grace <= 0 then
        return call('DEL', key)
    end
    if left < 0 or left > grace then
        left = grace
    end
    call('SET', key, mark, 'PX', string.format('%.0f', math.max(left, 1)))
    return 1
end
local held = redis.pcall('GET', lock)
local mark = 'broken|' .. ARGV[1]
if type(held) == 'table' then
    local count = redis.pcall('HGET', lock, 'slots')
    count = KEYS[2] and type(count) == 'string' and tonumber(count)
    if count and count >= 1 and count <= 1000 then
        -- A semaphore: the mark is in the slot, and others wait for that one as for any other.
        local name, order_key = lock, KEYS[2]
        -- include parts/slots.lua
        read_slots()
        local slot = find_slot(ARGV[1]) or find_slot(mark)
        if not slot then
            return 0
        end
        mark_text(slot_key(slot), mark)
        if tonumber(ARGV[2]) <= 0 then
            call('HDEL', name, slot)
        end
        -- The name ends with the last of its slots, and is free for other kinds of locks and numbers of slots then.
        local left = -1
        for i = 1, count do
            local ms = held[i] and call('PTTL', slot_key(i)) or -2
            left = ms == -1 and math.huge or math.max(left, ms)
        end
        if left < 0 then
            call('DEL', name)
        elseif left < call('PTTL', name) then
            call('PEXPIRE', name, string.format('%.0f', math.max(left, 1)))
        end
        return 1
    end
    -- Of another type: one of those who share it has the mark in place of its own hold.
    local time = call('TIME')
    local now = time[1] * 1000000 + time[2]
    -- include parts/holds.lua
    local count_holds, end_with_last = shared_holds()
    local now_ms = math.floor(now / 1000)
    if not count_holds(lock) then
        return call('PTTL', lock) == -2 and -1 or held
    end
    local member = 'shared|' .. ARGV[1]
    local ends = call('ZSCORE', lock, member) or call('ZSCORE', lock, mark)
    if not ends then
        return 0
    end
    call('ZREM', lock, member, mark)
    if tonumber(ARGV[2]) > 0 then
        call('ZADD', lock, math.max(math.min(ends, now_ms + ARGV[2]), now_ms + 1), mark)
    end
    end_with_last(lock)
    return 1
end
if held ~= ARGV[1] and held ~= mark then
    return held and 0 or -1
end
return mark_text(lock, mark)

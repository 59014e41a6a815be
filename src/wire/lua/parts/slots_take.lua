-- The vote on a semaphore in by far the most cases, as take.lua is of other locks: takes a slot that is free where nobody is in line, for an owner that has none.
-- Wants kept, where the slots follow on what comes before kept_order and that, and what slots_ask.lua has otherwise.
if not kept_order then
    local free
    for i = wish + (only and 0 or count - 1), wish, -1 do
        local slot = (i - 1) % count + 1
        if not kept[slot + 5] then
            free = slot
        end
    end
    for i = 6, count + 5 do
        if kept[i] == owner then
            free = nil
        end
    end
    local left = free and call('PTTL', name)
    if left and (left == -2 or redis.pcall('HGET', name, 'slots') == args[7]) then
        -- include number.lua
        -- include store.lua
        call('SET', slot_keys[free], owner, 'PX', ttl)
        call('HSET', name, 'slots', args[7], free, text .. ' ' .. (string.match(place, '^%d+') or '0') .. ' ' .. string.sub(owner, 1, 32) .. ' 0')
        if left < ttl + 0 then
            call('PEXPIRE', name, math.floor(ttl * 1.125)) -- see slot_notes.lua
        end
        return {1, now, fence, free}
    end
end

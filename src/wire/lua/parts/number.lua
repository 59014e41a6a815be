-- The number of a grant: above everything stored for this name (the floor stands for what was forgotten), not far from the node's
-- own clock, and if possible the one proposed, for then all nodes agree. Wants now, stored and floor.
-- A waiter's proposal is as old as its wait; it may lag by a minute, and no more: see store_number.
local function choose_number(proposed)
    local fence = proposed
    if fence - now > 5000000 or now - fence > 60000000 then
        fence = now
    end
    if fence <= stored then
        fence = stored + 1
    end
    return fence
end
-- Its key lives for an hour after its last use, for there are as many as names; the clock, and the floor, cover it then: numbers whose
-- keys are gone are below the floor when that is less than an hour behind the clock, even if the clock is set back. A number ahead of
-- the clock would be undercut after its key has expired: the floor keeps it for ever.
local function store_number(fence)
    local text = string.format('%.0f', fence)
    if last and known >= fence - fence % 600000000 then
        call('SET', fence_key, text, 'KEEPTTL')
    else
        call('SET', fence_key, text, 'EX', '4200')
    end
    if now - floor > 3500000000 then
        floor = now - 3000000000
        call('SET', floor_key, string.format('%.0f', floor))
    end
    if fence - now > 5000000 and fence > floor then
        call('SET', floor_key, text)
        floor = fence
    end
end

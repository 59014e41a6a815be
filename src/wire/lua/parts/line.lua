-- What the scripts of a fair lock's line have in common. Wants call, line (its key), leases (what the key of every lease
-- in it begins with) and id (the waiter that asks).
-- Whether somebody in front was dropped, so that others have moved up.
local moved = false
-- The first of the line who is still there: those before him whose leases have run out are dropped.
local function find_first()
    local first = call('ZRANGE', line, 0, 0)[1]
    while first and first ~= id and call('PTTL', leases .. first) == -2 do
        call('ZREM', line, first)
        moved = true
        first = call('ZRANGE', line, 0, 0)[1]
    end
    return first
end
-- Tells the first two that they have moved up: whoever has his lease tracked hears that it was written to.
local function wake_first_two()
    for _, waiter in ipairs(call('ZRANGE', line, 0, 1)) do
        local left = call('PTTL', leases .. waiter)
        if waiter ~= id and left > 0 then
            call('PEXPIRE', leases .. waiter, left)
        end
    end
end

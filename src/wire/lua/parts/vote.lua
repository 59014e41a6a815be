-- The vote itself: takes the lock if it is free and numbers the grant. Wants call, now, floor, what stored.lua leaves behind,
-- lock, fence_key, floor_key, owner, ttl and text (the proposed fence), and place and another of ask.lua. Goes on, with `another`, when the
-- caller may stand in line.
-- SET NX, not GET: a key of another type is in the way too. It is an answer about this lock alone.
if call('SET', lock, owner, 'NX', 'PX', ttl) then
    -- include number.lua
    -- include store.lua
    if fence == proposed then
        return now
    end
    return {1, now, fence}
end
local found = redis.pcall('GET', lock)
local left = call('PTTL', lock)
if type(found) == 'string' then
    found = string.sub(found, 1, 511)
else
    -- include no_slots.lua
    -- A lock that is shared, or another program's, ends by itself; what does not is no lock, and waiting for it is in vain.
    if left < 0 then
        return found
    end
    local count_holds, _, _, name_holds = shared_holds()
    found = place == '' and count_holds(lock) and name_holds(lock) or 'foreign'
end
if place == '' or another then
    return {0, now, stored, left, found}
end
another = true

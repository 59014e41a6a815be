-- The vote itself: takes the lock if it is free and numbers the grant. Wants call, now, floor, what stored.lua leaves behind,
-- lock, fence_key, floor_key, owner, ttl and text (the proposed fence).
-- SET NX, not GET: a key of another type is in the way too. It is an answer about this lock alone.
if not call('SET', lock, owner, 'NX', 'PX', ttl) then
    local holder = redis.pcall('GET', lock)
    local left = call('PTTL', lock)
    if type(holder) == 'table' then
        -- Another program's kind of lock ends by itself; what does not is no lock, and waiting for it is in vain.
        if left < 0 then
            return holder
        end
        holder = 'foreign'
    end
    return {0, now, stored, left, string.sub(holder, 1, 511)}
end
-- The number of this grant: above everything stored for this name (the floor stands for what was forgotten), close to
-- the node's own clock, and if possible what the client proposed, for then all nodes agree.
local proposed = text + 0
local fence = proposed
if fence - now > 5000000 or now - fence > 5000000 then
    fence = now
end
if fence <= stored then
    fence = stored + 1
end
if fence ~= proposed then
    text = string.format('%.0f', fence)
end
-- Its key lives for an hour after its last use, for there are as many as names; the clock, and the floor, cover it then. Pushing its
-- end out every ten minutes is enough, and costs less than every time: not when the last number is of the same ten minutes.
if last and known >= fence - fence % 600000000 then
    call('SET', fence_key, text, 'KEEPTTL')
else
    call('SET', fence_key, text, 'EX', '4200')
end
-- Numbers whose keys are gone are below the floor when it is less than an hour behind the clock, even if that is set back.
if now - floor > 3500000000 then
    floor = now - 3000000000
    call('SET', floor_key, string.format('%.0f', floor))
end
-- A number ahead of the clock would be undercut after its key has expired: the floor keeps it for ever.
if fence - now > 5000000 and fence > floor then
    call('SET', floor_key, text)
    floor = fence
end
if fence == proposed then
    return now
end
return {1, now, fence}

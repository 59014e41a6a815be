-- One vote of a guarded node: takes the lock if the node is fit to vote and the lock is free, and numbers the grant.
-- KEYS[1] lock  KEYS[2] fence  KEYS[3] epoch  KEYS[4] floor
-- ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] proposed fence  ARGV[4] epoch record the client knows
-- ARGV[5] not after, in node time (us)
-- Answers  now (us)                        granted, with exactly the proposed fence
--          {1, now, fence}                 granted, with another fence
--          {0, now, fence, pttl, owner}    held
--          {-3, now}                       epoch: this node is not what the client takes it for
--          {-4, now}                       late
-- Globals are looked up once, and texts become numbers by adding 0: this runs for every lock, and each costs a little.
local call, keys, args = redis.call, KEYS, ARGV
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', keys[3], keys[2], keys[4])
local last, floor = kept[2], kept[3]
if kept[1] ~= args[4] or not floor then
    return {-3, now}
end
if now > args[5] + 0 then
    return {-4, now}
end
-- The highest number this name can have met here. A node restored from an old snapshot has old fences, but a floor that it
-- was told since; so the floor counts even where there is a fence.
floor = floor + 0
local known = (last or floor) + 0
local stored = known > floor and known or floor
-- SET NX, not GET: a key of another type is in the way too.
if not call('SET', keys[1], args[1], 'NX', 'PX', args[2]) then
    local holder = call('GET', keys[1])
    return {0, now, stored, call('PTTL', keys[1]), string.sub(holder, 1, 511)}
end
-- The number of this grant: above everything stored for this name (the floor stands for what was forgotten), close to
-- the node's own clock, and if possible what the client proposed, for then all nodes agree.
local text = args[3]
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
-- Its key lives for a day. Pushing its end out once an hour is enough, and costs less than every time: not when the last
-- number is of the same hour.
if last and known >= fence - fence % 3600000000 then
    call('SET', keys[2], text, 'KEEPTTL')
else
    call('SET', keys[2], text, 'EX', '90000')
end
-- A number ahead of the clock would be undercut after its key has expired: the floor keeps it for ever.
if fence - now > 5000000 and fence > floor then
    call('SET', keys[4], text)
end
if fence == proposed then
    return now
end
return {1, now, fence}

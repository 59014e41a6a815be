-- One vote of a guarded node: takes the lock if the node is fit to vote and the lock is free, and numbers the grant.
-- KEYS[1] lock  KEYS[2] fence  KEYS[3] epoch  KEYS[4] floor
-- ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] proposed fence  ARGV[4] epoch record the client knows
-- ARGV[5] not after, in node time (us)
-- Answers  now (us)                        granted, with exactly the proposed fence
--          {1, now, fence}                 granted, with another fence
--          {0, now, fence, pttl, owner}    held
--          {-3, now}                       epoch: this node is not what the client takes it for
--          {-4, now}                       late
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', KEYS[3], KEYS[2], KEYS[4])
if kept[1] ~= ARGV[4] or not kept[3] then
    return {-3, now}
end
if now > tonumber(ARGV[5]) then
    return {-4, now}
end
-- Above 2^53 adding one changes nothing: there would be no next number. No grant of ours can have led there.
local floor = tonumber(kept[3])
if not (floor and floor >= 0 and floor < 9007199254740990) then
    return {-3, now}
end
-- The highest number this name can have met here. A node restored from an old snapshot has old fences, but a floor that it
-- was told since; so the floor counts even where there is a fence.
local known = tonumber(kept[2] or kept[3])
local stored = math.max(known, floor)
if not (stored < 9007199254740990) then
    return redis.error_reply('ERR redlock: the fence stored for this name is out of range')
end
-- SET NX, not GET: a key of another type is in the way too.
if not call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    local holder = call('GET', KEYS[1])
    return {0, now, stored, call('PTTL', KEYS[1]), string.sub(holder, 1, 511)}
end
-- The number of this grant: above everything stored for this name (the floor stands for what was forgotten), close to
-- the node's own clock, and if possible what the client proposed, for then all nodes agree.
local proposed = tonumber(ARGV[3])
local fence = proposed
if fence - now > 5000000 or now - fence > 5000000 then
    fence = now
end
if fence <= stored then
    fence = stored + 1
end
local text = ARGV[3]
if fence ~= proposed then
    text = string.format('%.0f', fence)
end
-- Its key lives for a day. Pushing its end out once an hour is enough, and costs less than every time.
if kept[2] and math.floor(fence / 3600000000) == math.floor(known / 3600000000) then
    call('SET', KEYS[2], text, 'KEEPTTL')
else
    call('SET', KEYS[2], text, 'EX', '90000')
end
-- A number ahead of the clock would be undercut after its key has expired: the floor keeps it for ever.
if fence - now > 5000000 and fence > floor then
    call('SET', KEYS[4], text)
end
if fence == proposed then
    return now
end
return {1, now, fence}

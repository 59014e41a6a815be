-- Whether this node may vote on this question at all, and the highest number it knows; KEYS and ARGV are those of acquire.lua.
-- Leaves call, keys, args, now, last, floor, known and stored behind. Globals are looked up once, and texts become numbers by
-- adding 0: this runs for every lock, and each costs a little.
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
-- Above 2^53 adding one changes nothing: there would be no next number. No grant of ours can have led there.
floor = tonumber(floor)
if not (floor and floor >= 0 and floor < 9007199254740990) then
    return {-3, now}
end
-- The highest number this name can have met here. A node restored from an old snapshot has old fences, but a floor that it
-- was told since; so the floor counts even where there is a fence.
local known = (last or floor) + 0
local stored = known > floor and known or floor
if not (stored < 9007199254740990) then
    return redis.error_reply('ERR redlock: the fence stored for this name is out of range')
end

-- Whether this node may vote on this question at all, and the highest number it knows; KEYS and ARGV are those of acquire.lua.
-- Leaves call, now, kept, floor, known and stored behind.
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
-- The highest number this name can have met here. A node restored from an old snapshot has old fences, but a floor that it
-- was told since; so the floor counts even where there is a fence.
local floor = tonumber(kept[3])
local known = tonumber(kept[2] or kept[3])
local stored = math.max(known, floor)

-- What acquire.lua is asked, and what is kept here about it. Globals are looked up once, and texts become
-- numbers by adding 0: this runs for every lock, and each costs a little.
local call, keys, args = redis.call, KEYS, ARGV
local lock, fence_key, floor_key = keys[1], keys[2], keys[4]
local owner, ttl, text, record, not_after = args[1], args[2], args[3], args[4], args[5]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', keys[3], fence_key, floor_key)
local epoch, last, floor = kept[1], kept[2], kept[3]

-- Notes that something was done: when, by the node's own clock. A note never goes back, unless the clock did.
-- KEYS: the mark. ARGV: how long ago it was done, how long to keep the note, both in ms.
-- Returns 1.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stamp = now - tonumber(ARGV[1])
local known = tonumber(redis.call('GET', KEYS[1]) or '')
if known and known > stamp and known <= now then
    stamp = known
end
redis.call('SET', KEYS[1], string.format('%.0f', stamp), 'PX', ARGV[2])
return 1

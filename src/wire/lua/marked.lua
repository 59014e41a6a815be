-- How long ago something was noted to be done, by the node's own clock.
-- KEYS: the mark. Returns so many ms, below 0 when that is yet to come, or nothing when there is no note.
local stamp = redis.call('GET', KEYS[1])
if not stamp then
    return false
end
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(stamp)

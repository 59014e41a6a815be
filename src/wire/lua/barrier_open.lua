-- Opens a barrier for these parties: for all of them or for none. None of them may be part of an opening here, and each has to wait for so many.
-- KEYS: the barrier. ARGV: the opening, how long they are kept from now on in ms, the ids.
-- Returns 1, or 0 when it was not done.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = {}
for i = 3, #ARGV do
    local ends, opening, parties = string.match(redis.call('HGET', KEYS[1], ARGV[i]) or '', '^(%d+) (%d+) (%d+)$')
    if not ends or tonumber(ends) < now or opening ~= '0' or tonumber(parties) ~= #ARGV - 2 then
        return 0
    end
    kept[i] = math.max(tonumber(ends), now + tonumber(ARGV[2]))
end
for i = 3, #ARGV do
    redis.call('HSET', KEYS[1], ARGV[i], string.format('%.0f %s %d', kept[i], ARGV[1], #ARGV - 2))
end
redis.call('HDEL', KEYS[1], '@')
return 1

-- A party leaves a barrier. One that an opening may count on stays, unless it has gone through.
-- KEYS: the barrier. ARGV: its id, 1 when it has gone through, else 0.
-- Returns the opening that it is part of and stays for, or 0 when it is not there any more.
local own = redis.call('HGET', KEYS[1], ARGV[1])
local opening, until_ms = string.match(own or '', '^%d+ (%d+) (%d+)$')
if own and ARGV[2] == '0' and opening ~= '0' then
    local time = redis.call('TIME')
    if tonumber(until_ms) > time[1] * 1000 + math.floor(time[2] / 1000) then
        return opening
    end
end
redis.call('HDEL', KEYS[1], ARGV[1])
return '0'

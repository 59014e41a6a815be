-- A party leaves a barrier. One that is part of an opening stays, unless it has gone through.
-- KEYS: the barrier. ARGV: its id, 1 when it has gone through, else 0.
-- Returns the opening that it is part of and stays for; 0 when it has left; "-" when it was not here, or not any more.
local own = redis.call('HGET', KEYS[1], ARGV[1])
if not own then
    return '-'
end
local opening = string.match(own, '^%d+ (%d+) ') or '0'
if opening ~= '0' and ARGV[2] == '0' then
    return opening
end
redis.call('HDEL', KEYS[1], ARGV[1], '@')
return '0'

-- Compare-and-extend: lets the lock live for at least ttl from now, only if it is still ours.
-- Never shortens it and never creates it: an expired lock is not taken back by extending.
-- KEYS[1] lock   ARGV[1] owner   ARGV[2] ttl in ms
-- Answers 1 extended, 0 held by another owner, -1 nothing there.
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] then
    return held and 0 or -1
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1

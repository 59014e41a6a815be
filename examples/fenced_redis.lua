-- Writes a value into Redis unless a newer holder of the lock has written already. The fence of the last write lives beside the
-- value; a script runs alone, so nobody comes between the comparison and the write. For one Redis, not for the lock's own nodes.
-- KEYS[1] a hash   ARGV[1] fence of the lock (redlock_lock_fence)   ARGV[2] value
-- Answers 1 written, 0 a newer holder has written already.
-- redis-cli EVAL "$(cat fenced_redis.lua)" 1 document:1 1700000000123456 'new text'
local newest = redis.call('HGET', KEYS[1], 'fence')
-- As numbers: fences are below 2^53 until the year 2255.
if newest and tonumber(newest) > tonumber(ARGV[1]) then
    return 0
end
redis.call('HSET', KEYS[1], 'value', ARGV[2], 'fence', ARGV[1])
return 1

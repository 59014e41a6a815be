-- Takes a lock in Redisson's format for one of several readers, if nobody has it or others read. Each reader has a lease of its own, by
-- which Redisson tells how long the lock must live when another reader has left.
-- KEYS[1] lock   ARGV[1] owner  ARGV[2] ttl in ms
-- Answers OK granted; nothing: it is held.
local call, lock, owner, ttl = redis.call, KEYS[1], ARGV[1], tonumber(ARGV[2])
-- include parts/redisson_names.lua
local fresh = call('EXISTS', lock) == 0
if not fresh and redis.pcall('HGET', lock, 'mode') ~= 'read' then
    return false
end
call('HSET', lock, 'mode', 'read', owner, '1')
call('SET', lease, '1', 'PX', ttl)
local left = call('PTTL', lock)
if fresh or left >= 0 and left < ttl then
    call('PEXPIRE', lock, ttl)
end
return redis.status_reply('OK')

-- Takes a lock in Redisson's format for one holder, if nobody has it. The hash is what all of Redisson's locks of that name respect: the
-- field of an RLock, and mode and field of a write lock, without which a Redisson writer would walk in. The count is written, not
-- incremented, so that a request that is repeated does not count twice.
-- KEYS[1] lock   ARGV[1] owner  ARGV[2] ttl in ms
-- Answers OK granted; nothing: it is held.
local call, lock, owner = redis.call, KEYS[1], ARGV[1]
local writer = owner .. ':write'
if call('EXISTS', lock) == 1 and redis.pcall('HEXISTS', lock, writer) ~= 1 then
    return false
end
call('HSET', lock, 'mode', 'write', owner, '1', writer, '1')
call('PEXPIRE', lock, ARGV[2])
return redis.status_reply('OK')

-- Extends a lock in Redisson's format; plants it again for a single holder whose validity lasts, where it was lost and nobody has it.
-- See extend.lua for why.
-- KEYS[1] lock   ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] 1: a holder asks, and repair is allowed
-- Answers 1 extended, 0 held by another owner, -1 nothing there, -2 nothing was there: planted again,
-- -5 an operator has broken it
local call, lock, owner, ttl = redis.call, KEYS[1], ARGV[1], tonumber(ARGV[2])
-- include parts/redisson_names.lua
local shared = false
-- include parts/redisson_extend.lua
if call('EXISTS', lock) == 1 then
    return 0
end
if ARGV[3] == '1' then
    call('HSET', lock, 'mode', 'write', owner, '1', owner .. ':write', '1')
    call('PEXPIRE', lock, ttl)
    return -2
end
return -1

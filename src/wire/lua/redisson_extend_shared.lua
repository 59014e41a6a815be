-- The same as redisson_extend.lua for one of several readers: planted again where it was lost and nobody but readers has it.
-- KEYS[1] lock   ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] 1: a holder asks, and repair is allowed
-- Answers as redisson_extend.lua
local call, lock, owner, ttl = redis.call, KEYS[1], ARGV[1], tonumber(ARGV[2])
-- include parts/redisson_names.lua
local shared = true
-- include parts/redisson_extend.lua
local fresh = call('EXISTS', lock) == 0
if not fresh and mode ~= 'read' then
    return 0
end
if ARGV[3] == '1' then
    call('HSET', lock, 'mode', 'read', owner, '1')
    call('SET', lease, '1', 'PX', ttl)
    local left = call('PTTL', lock)
    if fresh or left >= 0 and left < ttl then
        call('PEXPIRE', lock, ttl)
    end
    return -2
end
return fresh and -1 or 0

-- Lets a hold live for at least ttl from now, if owner has one: as a reader with its own lease, or alone. Never shortens. Answers and is
-- done then; leaves behind mode. Wants call, lock, owner, ttl, lease.
local mode = redis.pcall('HGET', lock, 'mode')
if redis.pcall('HEXISTS', lock, owner) == 1 then
    if mode == 'read' and call('PTTL', lease) < ttl then
        call('SET', lease, '1', 'PX', ttl)
    end
    local left = call('PTTL', lock)
    if left >= 0 and left < ttl then
        call('PEXPIRE', lock, ttl)
    end
    return 1
end
if redis.pcall('HEXISTS', lock, 'broken|' .. owner) == 1 then
    return -5
end

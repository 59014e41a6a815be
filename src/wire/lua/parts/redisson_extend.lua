-- Lets a hold live for at least ttl from now, if owner has one: as a reader with its own lease, or alone. Never shortens. Answers and is
-- done then; leaves behind mode. Wants call, lock, owner, ttl, lease, and shared: it is taken for a reader.
local mode = redis.pcall('HGET', lock, 'mode')
if (mode == 'read') == shared and redis.pcall('HEXISTS', lock, owner) == 1 then
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

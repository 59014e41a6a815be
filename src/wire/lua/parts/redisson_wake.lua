-- Tells those who wait in Redisson that the lock is free: for an RLock, for a read/write lock, and the first of a fair lock's queue. Wants
-- call, pcall, tag, queue, timeouts, and message: 0 one of those who wait for a read/write lock comes, 1 all of them.
-- A user that may not publish has given the lock back all the same; they hear of it when their time runs out.
local channel = 'redisson_lock__channel:' .. tag
pcall('PUBLISH', channel, '0')
pcall('PUBLISH', 'redisson_rwlock:' .. tag, message)
local waiters = pcall('LRANGE', queue, '0', '15')
if #waiters > 0 then
    local time = call('TIME')
    local now = time[1] * 1000 + time[2] / 1000
    -- Those before the first that still waits are passed over by Redisson itself, once somebody asks.
    for _, waiter in ipairs(waiters) do
        pcall('PUBLISH', channel .. ':' .. waiter, '0')
        local ends = pcall('ZSCORE', timeouts, waiter)
        if type(ends) == 'string' and tonumber(ends) > now then
            break
        end
    end
end

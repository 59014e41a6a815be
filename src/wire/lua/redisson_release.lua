-- Gives back a lock in Redisson's format, held alone or with other readers, and wakes those who wait in Redisson: for an RLock, for a
-- read/write lock, and the first of a fair lock's queue.
-- KEYS[1] lock  KEYS[2] queue of a fair lock  KEYS[3] until when those in it wait, in ms of their own clocks   ARGV[1] owner
-- Answers 1 given back, 0 held by another owner, -1 nothing there
local call, pcall, lock, owner = redis.call, redis.pcall, KEYS[1], ARGV[1]
-- include parts/redisson_names.lua
if pcall('HEXISTS', lock, owner) ~= 1 then
    return call('EXISTS', lock) == 1 and 0 or -1
end
local reads = call('HGET', lock, 'mode') == 'read'
if reads then
    call('HDEL', lock, owner)
    call('DEL', lease)
    if call('HLEN', lock) > 1 then
        -- The lock has to live as long as the longest of the other readers. One whose lease is not known may still renew the lock:
        -- Redisson's renewal of several locks at once misses their leases. Then the lock ends when it would have.
        local longest, known = 0, true
        local fields = call('HGETALL', lock)
        for i = 1, #fields, 2 do
            -- As often as it has entered; nobody's number may keep this node busy.
            for count = 1, math.min(tonumber(fields[i + 1]) or 0, 100) do
                local left = call('PTTL', tag .. ':' .. fields[i] .. ':rwlock_timeout:' .. count)
                known = known and left > 0
                longest = math.max(longest, left)
            end
        end
        if known and longest < call('PTTL', lock) then
            call('PEXPIRE', lock, longest)
        end
        return 1
    end
end
call('DEL', lock)
-- A user that may not publish has given it back all the same; they hear of it when their time runs out.
local channel = 'redisson_lock__channel:' .. tag
pcall('PUBLISH', channel, '0')
pcall('PUBLISH', 'redisson_rwlock:' .. tag, reads and '0' or '1')
local queue = pcall('LRANGE', KEYS[2], '0', '15')
if #queue > 0 then
    local time = call('TIME')
    local now = time[1] * 1000 + time[2] / 1000
    -- Those before the first that still waits are passed over by Redisson itself, once somebody asks.
    for _, waiter in ipairs(queue) do
        pcall('PUBLISH', channel .. ':' .. waiter, '0')
        local ends = pcall('ZSCORE', KEYS[3], waiter)
        if type(ends) == 'string' and tonumber(ends) > now then
            break
        end
    end
end
return 1

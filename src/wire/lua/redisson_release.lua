-- Gives back a lock in Redisson's format, held alone or with other readers, and wakes those who wait in Redisson.
-- KEYS[1] lock  KEYS[2] queue of a fair lock  KEYS[3] until when those in it wait, in ms of their own clocks   ARGV[1] owner
-- ARGV[2] 's': it is taken for a reader; what it is not stays as it is
-- Answers 1 given back, 0 held by another owner, -1 nothing there, -5 an operator had broken it: others get in now
local call, pcall, lock, owner, queue, timeouts = redis.call, redis.pcall, KEYS[1], ARGV[1], KEYS[2], KEYS[3]
-- include parts/redisson_names.lua
local broken = pcall('HEXISTS', lock, 'broken|' .. owner) == 1
if not broken and pcall('HEXISTS', lock, owner) ~= 1 and pcall('HEXISTS', lock, owner .. ':write') ~= 1 then
    return call('EXISTS', lock) == 1 and 0 or -1
end
local message, read = '1', call('HGET', lock, 'mode') == 'read'
if not broken and read ~= (ARGV[2] == 's') then
    return 0
end
if read then
    message = '0'
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
-- include parts/redisson_wake.lua
return broken and -5 or 1

-- The key of a lock is of another type: when it is that of a semaphore, the answer says so. Wants lock.
-- include slot_count.lua
local slots = slot_count(lock)
if slots then
    return redis.error_reply('WRONGTYPE the name is in use for a semaphore of ' .. slots .. ' slots')
end

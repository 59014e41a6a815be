-- A waiter gives up his place in the line of a fair lock.
-- KEYS[1] line  KEYS[2] state  KEYS[3] his lease
-- ARGV[1] id
-- Answers 1 he was in it, 0 he was not. What the state knows of tickets is kept: it ends by itself.
local call = redis.call
local line, id = KEYS[1], ARGV[1]
local leases = string.sub(KEYS[3], 1, -1 - string.len(id))
-- include parts/line.lua
local rank = call('ZRANK', line, id)
call('DEL', KEYS[3])
if not rank then
    return 0
end
call('ZREM', line, id)
if rank == 0 then
    call('HDEL', KEYS[2], 'offer', 'since')
end
find_first()
if rank < 2 or moved then
    wake_first_two()
end
return 1

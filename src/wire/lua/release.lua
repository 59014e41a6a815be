-- Compare-and-delete: removes the lock only if it is still ours.
-- KEYS[1] lock   ARGV[1] owner
-- Answers 1 deleted, 0 held by another owner, -1 nothing there, -5 an operator had broken it (see break.lua): others get in now.
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
if held == 'broken|' .. ARGV[1] then
    redis.call('DEL', KEYS[1])
    return -5
end
return held and 0 or -1

-- Ends somebody's hold of a lock in Redisson's format by an operator's order; see break.lua. The mark that keeps others out for a moment is
-- a hash in the same format. One of several readers is taken out: the others keep writers away.
-- KEYS[1] lock  KEYS[2] queue of a fair lock  KEYS[3] until when those in it wait   ARGV[1] owner  ARGV[2] how long others are kept out
-- at most, in ms; 0 not at all
-- Answers 1 done, 0 held by another owner, -1 nothing there
local call, pcall, lock, owner, queue, timeouts = redis.call, redis.pcall, KEYS[1], ARGV[1], KEYS[2], KEYS[3]
-- include parts/redisson_names.lua
local mark = 'broken|' .. owner
local held = false
for _, field in ipairs({owner, owner .. ':write', mark}) do
    held = held or pcall('HEXISTS', lock, field) == 1
end
if not held then
    return call('EXISTS', lock) == 1 and 0 or -1
end
if call('HGET', lock, 'mode') == 'read' and call('HLEN', lock) > 2 then
    call('HDEL', lock, owner)
    call('DEL', lease)
    return 1
end
local grace, left = tonumber(ARGV[2]), call('PTTL', lock)
call('DEL', lock, lease)
if grace > 0 then
    if left < 0 or left > grace then
        left = grace
    end
    call('HSET', lock, 'mode', 'write', mark, '1', mark .. ':write', '1')
    call('PEXPIRE', lock, math.max(left, 1))
    return 1
end
local message = '1'
-- include parts/redisson_wake.lua
return 1

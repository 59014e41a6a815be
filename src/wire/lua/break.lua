-- Ends somebody's hold by an operator's order, if that owner has it here. Others are kept out for a moment longer, by a mark in
-- place of the owner value: a holder that is alive finds it when it renews, is told, and takes the mark away. A mark ends by
-- itself, no later than the hold would have.
-- KEYS[1] lock   ARGV[1] owner  ARGV[2] how long others are kept out at most, in ms; 0 not at all
-- Answers 1 done, 0 held by another owner, -1 nothing there.
local call, lock = redis.call, KEYS[1]
local held = redis.pcall('GET', lock)
local mark = 'broken|' .. ARGV[1]
if type(held) == 'table' then
    -- Of another type: one of those who share it has the mark in place of its own hold.
    local time = call('TIME')
    local now = time[1] * 1000000 + time[2]
    -- include parts/holds.lua
    if not count_holds(lock) then
        return call('PTTL', lock) == -2 and -1 or held
    end
    local member = 'shared|' .. ARGV[1]
    local ends = call('ZSCORE', lock, member) or call('ZSCORE', lock, mark)
    if not ends then
        return 0
    end
    call('ZREM', lock, member, mark)
    if tonumber(ARGV[2]) > 0 then
        call('ZADD', lock, math.max(math.min(ends, now_ms + ARGV[2]), now_ms + 1), mark)
    end
    end_with_last(lock)
    return 1
end
if held ~= ARGV[1] and held ~= mark then
    return held and 0 or -1
end
local grace, left = tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])
if grace <= 0 then
    return redis.call('DEL', KEYS[1])
end
if left < 0 or left > grace then
    left = grace
end
redis.call('SET', KEYS[1], mark, 'PX', string.format('%.0f', math.max(left, 1)))
return 1

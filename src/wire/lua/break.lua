-- Ends somebody's hold by an operator's order, if that owner has it here. Others are kept out for a moment longer, by a mark in
-- place of the owner value: a holder that is alive finds it when it renews, is told, and takes the mark away. A mark ends by
-- itself, no later than the hold would have.
-- KEYS[1] lock   ARGV[1] owner  ARGV[2] how long others are kept out at most, in ms; 0 not at all
-- Answers 1 done, 0 held by another owner, -1 nothing there.
local held = redis.call('GET', KEYS[1])
local mark = 'broken|' .. ARGV[1]
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

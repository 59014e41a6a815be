-- Who holds a lock, alone or shared. What is there may be anybody's, and of any size.
-- KEYS[1] lock
-- Answers the owner value; '' nothing is there; {owner, how many, another owner, ...} those who share it, the one that has it longest first, 64 at most
local value = redis.pcall('GETRANGE', KEYS[1], '0', '517')
if type(value) == 'string' then
    return value
end
local members = redis.pcall('ZREVRANGE', KEYS[1], '0', '63', 'WITHSCORES')
local mark = string.sub(members[1] or '', 1, 7)
if mark ~= 'shared|' and mark ~= 'broken|' then
    return value
end
local time = redis.call('TIME')
local now_ms = string.format('%.0f', math.floor((time[1] * 1000000 + time[2]) / 1000))
local answer = {}
for i = 1, #members, 2 do
    if members[i + 1] + 0 >= now_ms + 0 then
        answer[#answer + 1] = string.gsub(members[i], '^shared|', '')
    end
    if i == 1 then
        answer[2] = redis.call('ZCOUNT', KEYS[1], now_ms, '+inf')
    end
end
return answer[1] and answer or ''

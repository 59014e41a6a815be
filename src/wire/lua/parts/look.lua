-- Who holds a lock, alone or shared; see look.lua. Wants call and lock, and the function of slot_count.lua.
local value = redis.pcall('GETRANGE', lock, '0', '517')
if type(value) == 'string' then
    return value
end
local mark = string.sub(redis.pcall('ZRANGE', lock, 0, 0)[1] or '', 1, 7)
if mark ~= 'shared|' and mark ~= 'broken|' then
    return slot_count(lock) or value
end
-- See parts/holds.lua. Nothing is removed: a look changes nothing.
local time = call('TIME')
local from = string.format('%.0f', math.floor((time[1] * 1000000 + time[2]) / 1000))
local answer = {}
for i, member in ipairs(call('ZRANGEBYSCORE', lock, from, '+inf', 'LIMIT', '0', '64')) do
    answer[i] = string.sub(member, 1, 7) == 'shared|' and string.sub(member, 8) or member
end
if not answer[1] then
    return ''
end
table.sort(answer)
table.insert(answer, 2, call('ZCOUNT', lock, from, '+inf'))
return answer

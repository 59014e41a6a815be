-- One page of a walk through this node's keys: those that are locks. A lock is a text that has an end and begins as our owner
-- values do, or as a mark of break.lua; what belongs to the guard, to fences and to lines is none.
-- KEYS: none   ARGV[1] cursor  ARGV[2] pattern of the keys  ARGV[3] how many keys to look at, about: it bounds the time this takes
-- ARGV[4] 1: also texts with an end that other programs made
-- Answers {now (us), next cursor ('0': that was the last page), key, 0 (1: another program made it), ...}
--         {now, ''}   it would be too much for one answer: ask for fewer
local call, pcall = redis.call, redis.pcall
local time = call('TIME')
local page = call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local answer = {time[1] * 1000000 + time[2], page[1]}
local owner = '^' .. string.rep('%x', 32)
local size = 0
for _, key in ipairs(page[2]) do
    -- The user may lack the right to it, or it may be of another type.
    local value = #key <= 1024 and string.sub(key, 1, 14) ~= 'redlock-fence:' and pcall('GETRANGE', key, '0', '39')
    if type(value) == 'string' then
        local start = string.sub(value, 1, 7) == 'broken|' and 8 or 1
        local ours = string.find(value, owner, start) and (#value == start + 31 or string.sub(value, start + 32, start + 32) == '|')
        local left = (ours or ARGV[4] == '1') and call('PTTL', key) or -1
        if left > 0 and (ours or call('STRLEN', key) <= 511) then
            size = size + #key + 32
            answer[#answer + 1] = key
            answer[#answer + 1] = ours and 0 or 1
        end
    end
end
if size > 49152 then
    return {answer[1], ''}
end
return answer

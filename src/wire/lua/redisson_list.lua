-- One page of a walk through this node's keys: those that are locks in Redisson's format. Such a lock is a hash with an end that has a
-- mode of read or write, or a single field that names a thread of Redisson.
-- KEYS: none   ARGV[1] cursor  ARGV[2] pattern of the keys  ARGV[3] how many keys to look at, about: it bounds the time this takes
-- Answers {now (us), next cursor ('0': that was the last page), key, 0 (1: only Redisson has it), ...}
--         {now, ''}   it would be too much for one answer: ask for fewer
local call, pcall = redis.call, redis.pcall
local time = call('TIME')
local page = call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local answer = {time[1] * 1000000 + time[2], page[1]}
local thread = '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$'
local size = 0
for _, key in ipairs(page[2]) do
    -- The user may lack the right to it, or it may be of another type.
    local fields = #key <= 1024 and pcall('HLEN', key)
    if type(fields) == 'number' and fields > 0 and call('PTTL', key) > 0 then
        local mode = call('HGET', key, 'mode')
        local has_mode, ours = mode == 'read' or mode == 'write', false
        local names = (has_mode or fields == 1) and fields <= 100 and call('HKEYS', key) or {}
        local is_lock = has_mode or fields == 1 and string.find(names[1], thread)
        for _, name in ipairs(names) do
            ours = ours or name ~= 'mode' and not string.find(string.gsub(name, ':write$', ''), thread)
        end
        if is_lock then
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

-- One page of a walk through this node's keys: those that are locks. Wants made_by(key): 0 for a lock of ours, 1 for one that another program made, a
-- text for a semaphore (see list.lua), nil for what is none; long keys are not asked about. ARGV[1] cursor, '=' for one key  ARGV[2] that key, or pattern of the keys  ARGV[3] how many keys to look at, about: it bounds the time this takes
local time = redis.call('TIME')
local page = ARGV[1] == '=' and {'0', {ARGV[2]}} or redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local answer, size = {time[1] * 1000000 + time[2], page[1]}, 0
for _, key in ipairs(page[2]) do
    local maker = #key <= 1024 and made_by(key)
    if maker then
        size = size + #key + 32 + (type(maker) == 'string' and #maker or 0)
        answer[#answer + 1] = key
        answer[#answer + 1] = maker
    end
end
if size > 49152 then
    return {answer[1], ''}
end
return answer

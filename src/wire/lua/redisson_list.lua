-- One page of a walk through this node's keys: those that are locks in Redisson's format. Such a lock is a hash with an end that has a
-- mode of read or write, or a single field that names a thread of Redisson.
-- KEYS: none   ARGV[1] cursor  ARGV[2] pattern of the keys  ARGV[3] how many keys to look at, about
-- Answers {now (us), next cursor ('0': that was the last page), key, 0 (1: only Redisson has it), ...}
--         {now, ''}   it would be too much for one answer: ask for fewer
local thread = '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$'
local function made_by(key)
    -- The user may lack the right to it, or it may be of another type.
    local fields = redis.pcall('HLEN', key)
    if type(fields) ~= 'number' or fields == 0 or redis.call('PTTL', key) <= 0 then
        return nil
    end
    local mode = redis.call('HGET', key, 'mode')
    local has_mode, ours = mode == 'read' or mode == 'write', false
    local names = (has_mode or fields == 1) and fields <= 100 and redis.call('HKEYS', key) or {}
    if not (has_mode or fields == 1 and string.find(names[1], thread)) then
        return nil
    end
    for _, name in ipairs(names) do
        ours = ours or name ~= 'mode' and not string.find(string.gsub(name, ':write$', ''), thread)
    end
    return ours and 0 or 1
end
-- include parts/walk.lua

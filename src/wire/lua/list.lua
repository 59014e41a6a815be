-- One page of a walk through this node's keys: those that are locks. A lock is a text that has an end and begins as our owner
-- values do, or as a mark of break.lua, or a sorted set of such (parts/holds.lua), or the name of a semaphore (parts/slots.lua); what belongs to the
-- guard, to fences and to lines is none.
-- KEYS: none   ARGV[1] cursor; '=': one key only, which is  ARGV[2] pattern of the keys  ARGV[3] how many keys to look at, about
-- ARGV[4] 1: also texts with an end that other programs made
-- Answers {now (us), next cursor ('0': that was the last page), key, 0 (1: another program made it), ...}; behind the name of a semaphore
--         "4 1-2,4" instead of 0: how many slots it has, and those that are held
--         {now, ''}   it would be too much for one answer: ask for fewer
local owner = '^' .. string.rep('%x', 32)
-- include parts/slot_count.lua
local function held_slots(key)
    local count = slot_count(key)
    if not count then
        return nil
    end
    -- As rl_key_line() makes the keys of its line.
    local name, order_key = key, 'redlock-line:' .. (string.find(key, '{', 1, true) and ':' .. key .. ':' or '{' .. key .. '}:') .. 'order'
    local call = redis.call
    -- include parts/slots.lua
    local held_here = redis.pcall('MGET', all_slots())
    local ranges, from = {}, nil
    for i = 1, count + 1 do
        if held_here[i] then
            from = from or i
        elseif from then
            ranges[#ranges + 1] = from == i - 1 and from or from .. '-' .. (i - 1)
            from = nil
        end
    end
    return ranges[1] and count .. ' ' .. table.concat(ranges, ',') or nil
end
local function made_by(key)
    -- The user may lack the right to it, or it may be of another type.
    local value = string.sub(key, 1, 14) ~= 'redlock-fence:' and redis.pcall('GETRANGE', key, '0', '39')
    if type(value) == 'table' then
        -- Of another type: those who share a lock; see parts/holds.lua.
        local mark = string.sub(redis.pcall('ZRANGE', key, 0, 0)[1] or '', 1, 7)
        if mark ~= 'shared|' and mark ~= 'broken|' then
            return held_slots(key)
        end
        return redis.call('PTTL', key) > 0 and 0 or nil
    end
    if not value then
        return nil
    end
    local start = string.sub(value, 1, 7) == 'broken|' and 8 or 1
    local ours = string.find(value, owner, start) and (#value == start + 31 or string.sub(value, start + 32, start + 32) == '|')
    local left = (ours or ARGV[4] == '1') and redis.call('PTTL', key) or -1
    if left > 0 and (ours or redis.call('STRLEN', key) <= 511) then
        return ours and 0 or 1
    end
end
-- include parts/walk.lua

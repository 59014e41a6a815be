-- What slots.lua keeps about each slot under the name's own key. Wants call, name, count, and held.
local function find_slot(value, but)
    for i = 1, count do
        if held[i] == value and i ~= but then
            return i
        end
    end
end
local function note(slot)
    local kept = redis.pcall('HGET', name, slot)
    return string.match(type(kept) == 'string' and kept or '', '^(%d+) (%d+) (%S+) (%d+)$')
end
-- An eighth longer than it has to, so that not every grant moves its end.
local function keep_name(ms)
    if call('PTTL', name) < ms + 0 then
        call('PEXPIRE', name, math.floor(ms * 1.125))
    end
end
-- All of them are texts.
local function write_note(slot, fence, ticket, id, given)
    call('HSET', name, 'slots', count, slot, fence .. ' ' .. ticket .. ' ' .. id .. ' ' .. given)
end

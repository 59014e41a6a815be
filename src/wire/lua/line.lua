-- Who stands in line for a lock, first to last, and who waits for it without a line (as older versions do). Changes nothing.
-- KEYS[1] what the keys of the line begin with, and 'line'  KEYS[2] waiting without a line
-- ARGV[1] how many to name of each at most
-- Answers {now (us), number in line, {ticket, who, ...}, number waiting, {since, how many, who, ...}}
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local base = string.sub(KEYS[1], 1, -5)
local function read_records(ids)
    local keys = {}
    for i, id in ipairs(ids) do
        keys[i] = base .. id
    end
    return #keys > 0 and call('MGET', unpack(keys)) or {}
end

-- A waiter that is gone, but was not dropped yet, is not counted as far as it is seen. Of its owner only who it is for people is told.
local ranked = call('ZRANGE', base .. 'waiters', 0, ARGV[1] - 1, 'WITHSCORES')
local ids = {}
for i = 1, #ranked, 2 do
    ids[#ids + 1] = ranked[i]
end
local in_line = call('ZCOUNT', base .. 'waiters', '-inf', '+inf')
local line = {}
for i, record in ipairs(read_records(ids)) do
    local owner = string.match(record or '', '^[^\n]*\n[^\n]*\n(.*)$')
    if owner then
        line[#line + 1] = tonumber(ranked[2 * i])
        line[#line + 1] = string.sub(owner, 33, 511)
    else
        in_line = in_line - 1
    end
end

local from = string.format('%.0f', math.floor(now / 1000))
ids = call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'LIMIT', 0, ARGV[1])
local count = call('ZCOUNT', KEYS[2], from, '+inf')
local waiting = {}
for _, lease in ipairs(read_records(ids)) do
    local since, many, who = string.match(lease or '', '^(%d+) (%d+) (.*)$')
    if since then
        waiting[#waiting + 1] = tonumber(since)
        waiting[#waiting + 1] = tonumber(many)
        waiting[#waiting + 1] = string.sub(who, 1, 479)
    else
        count = count - 1
    end
end
return {now, in_line, line, count, waiting}

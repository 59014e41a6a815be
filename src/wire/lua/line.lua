-- Who waits for a lock, of both kinds. Changes nothing.
-- KEYS[1] line of the fair lock  KEYS[2] waiting for the ordinary one
-- ARGV[1] how many to name of each kind at most
-- Answers {now (us), number in the line, {ticket, who, ...}, number waiting, {since, how many, who, ...}}
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- The keys of all leases begin like the line's, which ends in 'line'.
local leases = string.sub(KEYS[1], 1, -5)
local function read_leases(ids)
    local keys = {}
    for i, id in ipairs(ids) do
        keys[i] = leases .. id
    end
    return #keys > 0 and call('MGET', unpack(keys)) or {}
end

-- Who is gone, but was not dropped yet, is not counted as far as he is seen.
local ranked = call('ZRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
local ids = {}
for i = 1, #ranked, 2 do
    ids[#ids + 1] = ranked[i]
end
local in_line = call('ZCOUNT', KEYS[1], '-inf', '+inf')
local line = {}
for i, who in ipairs(read_leases(ids)) do
    if who then
        line[#line + 1] = tonumber(ranked[2 * i])
        line[#line + 1] = string.sub(who, 1, 479)
    else
        in_line = in_line - 1
    end
end

local from = string.format('%.0f', math.floor(now / 1000))
ids = call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'LIMIT', 0, ARGV[1])
local count = call('ZCOUNT', KEYS[2], from, '+inf')
local waiting = {}
for _, lease in ipairs(read_leases(ids)) do
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

-- Opens a barrier for these parties: for all of them or for none, and only if nobody has tried since the opener looked.
-- KEYS: the barrier. ARGV: the opening (the fence of the opener's lock), the highest opening that it saw here, how long this counts in ms, the ids.
-- Returns 1, or 0 when it was not done.
local highest = redis.call('HGET', KEYS[1], '#') or '0'
if highest ~= ARGV[2] or tonumber(highest) >= tonumber(ARGV[1]) then
    return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local leases = {}
for i = 4, #ARGV do
    local own = redis.call('HGET', KEYS[1], ARGV[i])
    local lease = own and string.match(own, '^(%d+) ')
    if not lease or tonumber(lease) < now then
        return 0
    end
    leases[i] = lease
end
for i = 4, #ARGV do
    redis.call('HSET', KEYS[1], ARGV[i], string.format('%s %s %.0f', leases[i], ARGV[1], now + tonumber(ARGV[3])))
end
redis.call('HSET', KEYS[1], '#', ARGV[1])
return 1

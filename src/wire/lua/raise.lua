-- The second fence round: lifts this node's number for the name to the one agreed on, while the lock is still ours here.
-- KEYS[1] lock  KEYS[2] fence  KEYS[3] epoch  KEYS[4] floor
-- ARGV[1] owner  ARGV[2] fence  ARGV[3] epoch record the client knows, up to its id
-- Answers now (us) done, 0 not ours any more (or given to us anew, by a higher number), -3 epoch.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = redis.call('MGET', KEYS[3], KEYS[2], KEYS[4])
if not kept[1] or not kept[3] or ARGV[3] == '' or string.sub(kept[1], 1, #ARGV[3]) ~= ARGV[3] then
    return -3
end
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
    -- Of another type: it may be shared; see parts/holds.lua.
    local ends = redis.pcall('ZSCORE', KEYS[1], 'shared|' .. ARGV[1])
    held = type(ends) == 'string' and ends * 1000 >= now and ARGV[1]
end
if held ~= ARGV[1] then
    return 0
end
local fence = tonumber(ARGV[2])
if not (fence < 9007199254740991) then
    return redis.error_reply('ERR redlock: no fence can be above that one')
end
if fence < tonumber(kept[2] or '0') then
    return 0
end
if fence > tonumber(kept[2] or kept[3]) then
    redis.call('SET', KEYS[2], ARGV[2], 'EX', '4200')
end
if fence - now > 5000000 and fence > tonumber(kept[3]) then
    redis.call('SET', KEYS[4], ARGV[2])
end
return now

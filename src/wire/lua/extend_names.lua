-- Extends several locks that are held together, each as extend.lua does; it is a vote only if all of them are there. One who would adopt them
-- changes nothing unless all of them are the owner's.
-- KEYS[1] epoch  then the locks
-- ARGV as in extend.lua
-- Answers what extend.lua answers: now (us) when all were extended, -2 when some had to be planted again; else {0, -1 or -5, which lock, from 1}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[5]) then
    return -4
end
local owner, ttl, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local id, wait = string.match(redis.call('GET', KEYS[1]) or '', '^1 %S+ (%S+) .-(%d+)$')
local fit = id and id == string.match(ARGV[4], '^1 %S+ (%S+)') and tonumber(wait) * 1000 <= now
local held = redis.call('MGET', unpack(KEYS, 2))
local taken, missing
for i = 1, #KEYS - 1 do
    if not held[i] and redis.call('PTTL', KEYS[1 + i]) == -2 then
        missing = missing or i
    elseif held[i] ~= owner then
        taken = taken or i
    end
end
for i = 1, #KEYS - 1 do
    local key = KEYS[1 + i]
    if held[i] == owner and (mode ~= '0' or fit and not taken and not missing) and redis.call('PTTL', key) < ttl then
        redis.call('PEXPIRE', key, ARGV[2])
    elseif not held[i] and mode == '1' and fit and not taken then
        redis.call('SET', key, owner, 'PX', ARGV[2])
    end
end
if taken then
    return {held[taken] == 'broken|' .. owner and -5 or 0, taken}
end
if not fit then
    return -3
end
if missing then
    return mode == '1' and -2 or {-1, missing}
end
return now

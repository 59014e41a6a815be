-- The second fence round of several locks that are taken together; see raise.lua.
-- KEYS[1] epoch  KEYS[2] floor  then the fences of all locks, and then the locks
-- ARGV[1] owner  ARGV[2] fence  ARGV[3] epoch record the client knows, up to its id
-- Answers as raise.lua: now (us) done, 0 one of them is not ours any more (or was given to us anew, by a higher number), -3 epoch.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local count = (#KEYS - 2) / 2
local kept = redis.call('MGET', unpack(KEYS))
local epoch, floor, fence = kept[1], kept[2], tonumber(ARGV[2])
if not epoch or not floor or ARGV[3] == '' or string.sub(epoch, 1, #ARGV[3]) ~= ARGV[3] then
    return -3
end
if not (fence < 9007199254740991) then
    return redis.error_reply('ERR redlock: no fence can be above that one')
end
for i = 1, count do
    if kept[2 + count + i] ~= ARGV[1] or fence < tonumber(kept[2 + i] or '0') then
        return 0
    end
end
for i = 1, count do
    if fence > tonumber(kept[2 + i] or floor) then
        redis.call('SET', KEYS[2 + i], ARGV[2], 'EX', '4200')
    end
end
if fence - now > 5000000 and fence > tonumber(floor) then
    redis.call('SET', KEYS[2], ARGV[2])
end
return now

-- Compare-and-extend: lets the lock live for at least ttl from now, only if it is still ours. Never shortens it. An
-- expired lock is not taken back by extending; but a holder whose validity still lasts may plant its key again on a node
-- that lost it and whose epoch it knows ("repair"), if nobody else is there. That is no vote: only a quorum that never
-- lost it proves that nobody else had it meanwhile.
-- KEYS[1] lock  [KEYS[2] epoch]
-- ARGV[1] owner  ARGV[2] ttl in ms  [ARGV[3] not after, in node time (us)]  [ARGV[4] epoch record up to its id: repair is allowed]
-- Answers now (us) extended, 0 held by another owner, -1 nothing there, -2 nothing was there: planted again, -4 late.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[3] and now > tonumber(ARGV[3]) then
    return -4
end
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
    if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return now
end
if held then
    return 0
end
local epoch = ARGV[4] and ARGV[4] ~= '' and redis.call('GET', KEYS[2])
if epoch and string.sub(epoch, 1, #ARGV[4]) == ARGV[4] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return -2
end
return -1

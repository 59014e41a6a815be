-- Compare-and-extend: lets the lock live for at least ttl from now, only if it is still ours. Never shortens it. An
-- expired lock is not taken back by extending; but a holder whose validity still lasts may plant its key again on a node
-- that lacks it ("repair"), if nobody else is there. That is no vote: only a quorum that never
-- lost it proves that nobody else had it meanwhile.
-- KEYS[1] lock  [KEYS[2] epoch: guarded nodes only]
-- ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] 1: a holder asks, and repair is allowed, 2: a holder asks, 0: somebody who would be one
-- [ARGV[4] epoch record the client knows  ARGV[5] not after, in node time (us)]
-- Answers now (us; 1 without a guard) extended, 0 held by another owner, -1 nothing there, -2 nothing was there: planted again,
-- -3 epoch: this node is not what the client takes it for, or must not vote; a holder's key is kept alive all the same, but
-- not that of somebody who would adopt it: it may have come back with a snapshot after it was given back; -4 late,
-- -5 an operator has broken it: see break.lua.
local now, fit = 1, true
if KEYS[2] then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
    if now > tonumber(ARGV[5]) then
        return -4
    end
    -- What else the record says may change without anything being forgotten: the id of its memory counts, and whether it is quarantined.
    local id, wait = string.match(redis.call('GET', KEYS[2]) or '', '^1 %S+ (%S+) .-(%d+)$')
    fit = id and id == string.match(ARGV[4], '^1 %S+ (%S+)') and tonumber(wait) * 1000 <= now
end
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
    if (fit or ARGV[3] ~= '0') and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return fit and now or -3
end
if held then
    return held == 'broken|' .. ARGV[1] and -5 or 0
end
if not fit then
    return -3
end
if ARGV[3] == '1' then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return -2
end
return -1

-- A party has come to a barrier, or is still there; tells who else is.
-- A barrier is a hash: each party's id -> "END OPENING UNTIL" (its lease, the opening that it is part of, or 0, and until when that counts),
-- and "#" -> the highest opening that was tried here. All times are this node's.
-- KEYS: the barrier. ARGV: the party's id, its lease in ms, the most parties to tell of.
-- Returns {highest opening, id, opening, id, opening, ...}, openings as texts.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends, told, last = now + tonumber(ARGV[2]), 0, 0
local own = redis.call('HGET', KEYS[1], ARGV[1])
local opening, until_ms = '0', '0'
if own then
    opening, until_ms = string.match(own, '^%d+ (%d+) (%d+)$')
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s %s', ends, opening, until_ms))
local answer = {redis.call('HGET', KEYS[1], '#') or '0'}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    local lease, part, counts = string.match(all[i + 1], '^(%d+) (%d+) (%d+)$')
    if lease and tonumber(lease) < now then
        redis.call('HDEL', KEYS[1], all[i])
    elseif lease and told < tonumber(ARGV[3]) then
        told = told + 1
        last = math.max(last, tonumber(lease))
        answer[#answer + 1] = all[i]
        answer[#answer + 1] = tonumber(counts) > now and part or '0'
    end
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(last - now, 60000)))
return answer

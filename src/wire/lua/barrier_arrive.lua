-- A party comes to a barrier, or stays there; tells how many wait and, to one that may open it, who they are.
-- A barrier is a hash: each party's id -> "END OPENING PARTIES" (how long it is kept, by this node's clock; the opening that it is part of, or 0; how many it
-- waits for), and "@" -> "TIME WAITING PARTIES": how many waited when they were last counted.
-- A node writes a party down once and never again: one that lost it cannot know what it was part of here (core/gathering.h).
-- KEYS: the barrier. ARGV: the party's id, its lease in ms, how many it waits for, 1 if it was never sent here before (else 0), how many names to tell.
-- Returns {1, its opening, how many wait, id, id, ...}   it is here; ids in their order
--         {0}                                            this node has lost it
--         {-1, parties}                                  it was not let in: others wait here for another number of parties
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends, parties, most = now + tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[5])
local own = redis.call('HGET', KEYS[1], ARGV[1])
local kept, opening = string.match(own or '', '^(%d+) (%d+) %d+$')
if own then
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s %s', math.max(ends, tonumber(kept)), opening, parties))
elseif ARGV[4] == '0' then
    return {0}
end
local counted, waiting, wanted = string.match(redis.call('HGET', KEYS[1], '@') or '', '^(%d+) (%d+) (%d+)$')
local fresh = counted and wanted == parties and tonumber(counted) <= now and tonumber(counted) > now - 100
local ids = {}
if not (own and fresh and most == 0) then
    local all = redis.call('HGETALL', KEYS[1])
    for i = 1, #all, 2 do
        local lease, part, others = string.match(all[i + 1], '^(%d+) (%d+) (%d+)$')
        if lease and all[i] ~= '@' and tonumber(lease) < now then
            redis.call('HDEL', KEYS[1], all[i])
        elseif lease and all[i] ~= '@' and part == '0' then
            if others ~= parties and not own then
                return {-1, tonumber(others)}
            end
            ids[#ids + 1] = others == parties and all[i] or nil
        end
    end
    if not own then
        opening = '0'
        ids[#ids + 1] = ARGV[1]
    end
    waiting = #ids
    redis.call('HSET', KEYS[1], '@', string.format('%.0f %d %s', now, waiting, parties))
end
local longest = 2 * tonumber(ARGV[2]) + 60000
if redis.call('PTTL', KEYS[1]) < longest then
    redis.call('PEXPIRE', KEYS[1], longest)
end
-- Last: where it fails for want of a right, it is not written down.
if not own then
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f 0 %s', ends, parties))
end
local answer = {1, opening, tonumber(waiting)}
if most > 0 then
    table.sort(ids)
    for i = 1, math.min(most, #ids) do
        answer[i + 3] = ids[i]
    end
end
return answer

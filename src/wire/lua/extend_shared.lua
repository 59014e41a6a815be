-- The same as extend.lua, at guarded nodes, for one of several that share a lock: lets its own hold live for at least ttl from now, and nobody else's.
-- KEYS[1] lock  KEYS[2] epoch  KEYS[3] fence  KEYS[4] floor  ARGV as of extend.lua, and ARGV[6] the holder's fence
-- Answers as extend.lua; 0 somebody has it alone
local call, lock, ttl = redis.call, KEYS[1], tonumber(ARGV[2])
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[5]) then
    return -4
end
local id, wait = string.match(call('GET', KEYS[2]) or '', '^1 %S+ (%S+) .-(%d+)$')
local fit = id and id == string.match(ARGV[4], '^1 %S+ (%S+)') and tonumber(wait) * 1000 <= now
-- include parts/holds.lua
local count_holds, _, add_hold = shared_holds()
local member = 'shared|' .. ARGV[1]
local shares = count_holds(lock)
local ends = shares and call('ZSCORE', lock, member)
if ends then
    if fit or ARGV[3] ~= '0' then
        add_hold(lock, member, ttl)
    end
    return fit and now or -3
end
if shares and call('ZSCORE', lock, 'broken|' .. ARGV[1]) then
    return -5
end
if not shares and call('PTTL', lock) ~= -2 then
    return 0
end
if not fit then
    return -3
end
if ARGV[3] == '1' then
    if not shares then
        -- It is the first of them again, and those who join it have a number above everything that was given here meanwhile.
        local fence_key, floor_key, text = KEYS[3], KEYS[4], ARGV[6]
        local kept = call('MGET', fence_key, floor_key)
        local last, floor = kept[1], tonumber(kept[2] or '')
        if not (floor and floor >= 0 and floor < 9007199254740990) then
            return -3
        end
        -- include parts/stored.lua
        -- include parts/number.lua
        -- include parts/store.lua
    end
    add_hold(lock, member, ttl)
    return -2
end
return -1

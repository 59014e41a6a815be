-- Compare-and-extend for one slot of a semaphore: extend.lua, which says why, on the key of the slot. The name is kept for as long.
-- KEYS[1] name  KEYS[2] epoch  KEYS[3] order: what the keys of the slots begin like
-- ARGV[1] to ARGV[5] as in extend.lua  ARGV[6] number of slots  ARGV[7] the slot; 0 not known: whichever the owner has
-- Answers as extend.lua; where the slot was not known {now, slot} instead of now.
local call, name, order_key, owner = redis.call, KEYS[1], KEYS[3], ARGV[1]
local count, slot = ARGV[6] + 0, ARGV[7] + 0
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[5]) then
    return -4
end
local id, wait = string.match(call('GET', KEYS[2]) or '', '^1 %S+ (%S+) .-(%d+)$')
local fit = id and id == string.match(ARGV[4], '^1 %S+ (%S+)') and tonumber(wait) * 1000 <= now
-- include parts/slots.lua
-- include parts/slots_kind.lua
-- A holder keeps what it has, whatever has become of the name; who would be one has to know what it is.
if words and ARGV[3] == '0' then
    return 0
end
local asked = slot
if slot == 0 then
    read_slots()
    slot = find_slot(owner) or find_slot('broken|' .. owner)
    if not slot then
        return fit and -1 or -3
    end
end
local value = call('GET', slot_key(slot))
if value == owner then
    if (fit or ARGV[3] ~= '0') and call('PTTL', slot_key(slot)) < tonumber(ARGV[2]) then
        call('PEXPIRE', slot_key(slot), ARGV[2])
    end
    if not words then
        call('HSET', name, 'slots', count)
        keep_name(ARGV[2])
    end
    return not fit and -3 or asked > 0 and now or {now, slot}
end
if value then
    return value == 'broken|' .. owner and -5 or 0
end
if not fit then
    return -3
end
if ARGV[3] == '1' and not words then
    call('SET', slot_key(slot), owner, 'PX', ARGV[2])
    call('HDEL', name, slot)
    call('HSET', name, 'slots', count)
    keep_name(ARGV[2])
    return -2
end
return -1

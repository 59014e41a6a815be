-- The second fence round for one slot of a semaphore: raise.lua, which says why. Others may have been given other slots meanwhile, with higher numbers of the same
-- name; so it is the number of this slot's own grant that must not be above the one agreed on.
-- KEYS[1] name  KEYS[2] fence  KEYS[3] epoch  KEYS[4] floor  KEYS[5] order: what the keys of the slots begin like
-- ARGV[1] owner  ARGV[2] fence  ARGV[3] epoch record the client knows, up to its id  ARGV[4] number of slots  ARGV[5] the slot
-- Answers now (us) done, 0 not ours any more (or given to us anew, by a higher number), -3 epoch.
local call, name, order_key = redis.call, KEYS[1], KEYS[5]
local count, slot = ARGV[4] + 0, ARGV[5] + 0
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', KEYS[3], KEYS[2], KEYS[4])
if not kept[1] or not kept[3] or ARGV[3] == '' or string.sub(kept[1], 1, #ARGV[3]) ~= ARGV[3] then
    return -3
end
-- include parts/slots.lua
if call('GET', slot_key(slot)) ~= ARGV[1] then
    return 0
end
local fence = tonumber(ARGV[2])
if not (fence < 9007199254740991) then
    return redis.error_reply('ERR redlock: no fence can be above that one')
end
local number, ticket, id, given = note(slot)
if not number or id ~= string.sub(ARGV[1], 1, 32) or fence < number + 0 then
    return 0
end
write_note(slot, ARGV[2], ticket, id, given)
if fence > tonumber(kept[2] or kept[3]) then
    call('SET', KEYS[2], ARGV[2], 'EX', '4200')
end
if fence - now > 5000000 and fence > tonumber(kept[3]) then
    call('SET', KEYS[4], ARGV[2])
end
return now

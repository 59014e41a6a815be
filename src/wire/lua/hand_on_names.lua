-- Gives back and hands on several locks that were taken together, each as hand_on.lua does: whatever the owner has of each.
-- KEYS[1] epoch  KEYS[2] floor  then the fences of all locks, then their orders, and then the locks
-- ARGV[1] owner  ARGV[2] 1: only if all of them are the owner's, for its word is all there is; 0: a holder asks, whatever it has is to go
-- Answers 1 all of them were the owner's; else {0, -1 or -5 as hand_on.lua, which lock, from 1}: of the first that was not.
local call, keys, owner = redis.call, KEYS, ARGV[1]
local epoch_key, floor_key, count = keys[1], keys[2], (#keys - 2) / 3
local shared = false
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- include parts/holds.lua
local function free(key)
    call('DEL', key)
end
local function give_back(lock, order_key, fence_key, held, kept_order)
    -- include parts/give_back.lua
end
local wrong
local held = ARGV[2] == '1' and call('MGET', unpack(keys, 3 + 2 * count)) or {}
for i = count, 1, -1 do
    if ARGV[2] == '1' and held[i] ~= owner and held[i] ~= 'broken|' .. owner then
        wrong = {held[i] and 0 or -1, i}
    end
end
if wrong then
    return wrong
end
for i = 1, count do
    local fence_key, order_key, lock = keys[2 + i], keys[2 + count + i], keys[2 + 2 * count + i]
    local kept = call('MGET', lock, order_key)
    local answer = give_back(lock, order_key, fence_key, kept[1], kept[2])
    if answer ~= 1 and not wrong then
        wrong = {answer, i}
    end
end
return wrong or 1

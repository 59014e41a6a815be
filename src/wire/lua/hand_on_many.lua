-- Gives back and hands on several locks at once, each as if hand_on.lua had been called for it, in this order.
-- KEYS[1] epoch  KEYS[2] floor  then the fences of all locks, then their orders, and then the locks
-- ARGV[i] owner
-- Answers a list of what hand_on.lua answers.
local call, keys, args = redis.call, KEYS, ARGV
local epoch_key, floor_key, count = keys[1], keys[2], #args
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', unpack(keys, 3 + count))
-- include parts/holds.lua
local shared = false
local freed, seen, answers = {}, {}, {}
local function free(key)
    freed[#freed + 1] = key
end
local function delete_freed()
    if #freed > 0 then
        call('DEL', unpack(freed))
        freed = {}
    end
end
local function give_back(lock, order_key, fence_key, owner, held, kept_order)
    -- include parts/give_back.lua
end
for i = 1, count do
    local fence_key, order_key, lock = keys[2 + i], keys[2 + count + i], keys[2 + 2 * count + i]
    local kept_order, held = kept[i], kept[count + i]
    if seen[lock] then
        delete_freed()
        local again = call('MGET', lock, order_key)
        held, kept_order = again[1], again[2]
    end
    seen[lock] = true
    answers[i] = give_back(lock, order_key, fence_key, args[i], held, kept_order)
end
delete_freed()
return answers

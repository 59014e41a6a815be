-- Votes of a guarded node on several locks at once, each as if ask.lua had been called for it, in this order: the node's own state is
-- looked at once for all of them.
-- KEYS[1] epoch  KEYS[2] floor  then the fences of all locks, then their orders, and then the locks
-- ARGV[1] epoch record the client knows, up to its id  ARGV[2] not after, in node time (us)
-- then for every lock: owner, ttl in ms, proposed fence, and its place as in ARGV[6] of ask.lua
-- Answers a list of what ask.lua answers.
local call, keys, args = redis.call, KEYS, ARGV
local floor_key, record, not_after = keys[2], args[1], args[2]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local count = (#keys - 2) / 3
local kept = call('MGET', unpack(keys))
local epoch, floor = kept[1], kept[2]
-- include parts/holds.lua
local function refuse()
    -- include parts/fit.lua
end
local function ask(lock, fence_key, order_key, owner, ttl, text, place, last, kept_order, holder)
    -- include parts/stored.lua
    -- include parts/ask.lua
end
local refusal = refuse()
local answers, seen = {}, {}
for i = 1, count do
    local k, a = 2 + i, 4 * i - 1
    local fence_key, order_key, lock = keys[k], keys[k + count], keys[k + 2 * count]
    local last, kept_order, holder = kept[k], kept[k + count], kept[k + 2 * count]
    if seen[lock] or seen[fence_key] then
        local again = call('MGET', fence_key, order_key, lock)
        last, kept_order, holder = again[1], again[2], again[3]
    end
    seen[lock], seen[fence_key] = true, true -- a and {a} share their fence
    answers[i] = refusal or ask(lock, fence_key, order_key, args[a], args[a + 1], args[a + 2], args[a + 3], last, kept_order, holder)
end
return answers

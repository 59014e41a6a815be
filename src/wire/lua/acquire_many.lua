-- Votes of a guarded node on several locks at once, each as if acquire.lua had been called for it: the node's own state is
-- looked at once for all of them.
-- KEYS[1] epoch  KEYS[2] floor  then the fences of all locks, and then the locks
-- ARGV[1] epoch record the client knows, up to its id  ARGV[2] not after, in node time (us)  then for every lock: owner, ttl in ms, proposed fence
-- Answers a list of what acquire.lua answers.
local call, keys, args = redis.call, KEYS, ARGV
local floor_key, record, not_after = keys[2], args[1], args[2]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local count = #keys / 2 - 1
local kept = call('MGET', unpack(keys, 1, 2 + count))
local epoch, floor = kept[1], kept[2]
local function refuse()
    -- include parts/fit.lua
end
local function vote(lock, fence_key, owner, ttl, text, last)
    -- include parts/stored.lua
    -- include parts/vote.lua
end
local refusal = refuse()
local answers = {}
for i = 1, count do
    local k, a = 2 + i, 3 * i
    answers[i] = refusal or vote(keys[k + count], keys[k], args[a], args[a + 1], args[a + 2], kept[k])
end
return answers

-- Votes of a guarded node on several locks at once, each as if ask.lua had been called for it, in this order: the node's own state is
-- looked at once for all of them, and whether anybody is in line for any lock.
-- KEYS[i] lock
-- ARGV[1] epoch record the client knows, up to its id  ARGV[2] not after, in node time (us)
-- then for every lock: owner, ttl in ms, proposed fence, and its place as in ARGV[6] of ask.lua
-- Answers a list of what ask.lua answers.
local call, locks, args = redis.call, KEYS, ARGV
local record, not_after = args[1], args[2]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local floor_key = 'redlock-guard:floor'
local keys, tagged = {'redlock-guard:epoch', floor_key, 'redlock-guard:lines', 'redlock-guard:checked'}, false
for i = 1, #locks do
    local lock = locks[i]
    if string.find(lock, '{', 1, true) then
        tagged = true
        keys[4 + i] = 'redlock-fence:' .. lock
    else
        keys[4 + i] = 'redlock-fence:{' .. lock .. '}'
    end
end
local kept = call('MGET', unpack(keys))
local epoch, floor, waited_for, checked = kept[1], kept[2], kept[3], kept[4]
-- include parts/holds.lua
local function refuse()
    -- include parts/fit.lua
end
-- As ask.lua, but that it reads everything.
local function ask(lock, owner, ttl, text, place)
    -- include parts/keys.lua
    local again = call('MGET', fence_key, order_key, lock)
    local last, kept_order, holder = again[1], again[2], again[3]
    -- include parts/stored.lua
    -- include parts/ask.lua
end
-- As ask.lua where nobody is in line, and the lock is free; answers nothing where it is not.
local function take(lock, fence_key, owner, ttl, text, last)
    local kept_order, holder
    -- include parts/stored.lua
    -- include parts/take.lua
end
local refusal = refuse()
local answers = {}
for i = 1, #locks do
    local lock, a = locks[i], 4 * i - 1
    local owner, ttl, text = args[a], args[a + 1], args[a + 2]
    -- Of locks that have a tag two may share their fence, such as a and {a}, and what was read of it may be old.
    answers[i] = refusal or not waited_for and not tagged and take(lock, keys[4 + i], owner, ttl, text, kept[4 + i])
        or ask(lock, owner, ttl, text, args[a + 3])
end
return answers

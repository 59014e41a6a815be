-- Gives back and hands on several locks at once, each as if hand_on.lua had been called for it, those that nobody waits for first; but an owner that gives one lock back
-- twice is told twice that it was its own.
-- KEYS[i] lock   ARGV[i] owner
-- Answers a list of what hand_on.lua answers.
local call, locks, owners = redis.call, KEYS, ARGV
local kept = call('MGET', 'redlock-guard:lines', unpack(locks))
local freed, others, answers = {}, {}, {}
for i = 1, #locks do
    if kept[1 + i] == owners[i] and not kept[1] then
        freed[#freed + 1] = locks[i]
        answers[i] = 1
    else
        others[#others + 1] = i
    end
end
if #freed > 0 then
    call('DEL', unpack(freed))
end
if #others == 0 then
    return answers
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local shared = false
local function free(key)
    call('DEL', key)
end
-- include parts/holds.lua
local function give_back(lock, owner)
    -- include parts/keys.lua
    local again = call('MGET', lock, order_key)
    local held, kept_order = again[1], again[2]
    -- include parts/give_back.lua
end
for _, i in ipairs(others) do
    answers[i] = give_back(locks[i], owners[i])
end
return answers

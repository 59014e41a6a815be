-- Compare-and-delete of several locks at once, each as if release.lua had been called for it.
-- KEYS[i] lock   ARGV[i] owner
-- Answers a list of what release.lua answers, but -1 for a key of another type, too.
local keys, owners = KEYS, ARGV
local held = redis.call('MGET', unpack(keys))
local ours, answers = {}, {}
for i = 1, #keys do
    local answer = held[i] and 0 or -1
    if held[i] == owners[i] then
        answer = 1
        ours[#ours + 1] = keys[i]
    elseif held[i] == 'broken|' .. owners[i] then
        answer = -5
        ours[#ours + 1] = keys[i]
    end
    answers[i] = answer
end
if #ours > 0 then
    redis.call('DEL', unpack(ours))
end
return answers

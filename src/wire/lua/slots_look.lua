-- Who has the slots of a semaphore here. Changes nothing.
-- KEYS[1] order: what the keys of the slots begin like   ARGV[1] the name's own key
-- Answers {now (us), number of slots, slot, owner, pttl, ...} for each that is held, in order; {now, 0}: it is no semaphore
local call, order_key, name = redis.call, KEYS[1], ARGV[1]
local time = call('TIME')
-- include parts/slot_count.lua
local count = slot_count(name) or 0
local answer = {time[1] * 1000000 + time[2], count}
if count < 1 then
    return answer
end
-- include parts/slots.lua
read_slots()
for i = 1, count do
    if held[i] then
        answer[#answer + 1] = i
        answer[#answer + 1] = string.sub(held[i], 1, 518)
        answer[#answer + 1] = call('PTTL', slot_key(i))
    end
end
return answer

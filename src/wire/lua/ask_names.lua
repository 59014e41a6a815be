-- One vote of a guarded node on several locks that are taken together: all of them or none. Each is asked for as ask.lua does; when one
-- cannot be had, the caller stands in the line of that one, if it is ready to wait, and whatever it has of the others is given back and handed on as
-- hand_on.lua does. For each lock alone this is one of the two, and nothing else. All of them get the same number.
-- KEYS[1] epoch  KEYS[2] floor  then the fences of all locks, then their orders, and then the locks
-- ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] proposed fence  ARGV[4] epoch record the client knows, up to its id
-- ARGV[5] not after, in node time (us)  ARGV[6] its place, as in ask.lua; plus 4 in its second number: the caller has all of them at another node, so
-- that nobody else can, and keeps what it has here while it stands in line: given back, it would go to others who cannot get any further
-- Answers what ask.lua answers, and behind a refusal which lock was in the way, from 1.
local call, keys, args = redis.call, KEYS, ARGV
local epoch_key, floor_key = keys[1], keys[2]
local owner, ttl, record, not_after, place = args[1], args[2], args[4], args[5], args[6]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local count = (#keys - 2) / 3
local shared = false
-- include parts/holds.lua
local state = call('MGET', epoch_key, floor_key, 'redlock-guard:checked')
local epoch, floor, checked = state[1], state[2], state[3]
local function refuse()
    -- include parts/fit.lua
end
local function ask(lock, fence_key, order_key, last, kept_order, holder, text)
    -- include parts/stored.lua
    -- include parts/ask.lua
end
local function free(key)
    call('DEL', key)
end
local function give_back(lock, order_key, fence_key, held, kept_order)
    -- include parts/give_back.lua
end
local ticket, flags, rest = string.match(place, '^(%d+) ([4-7]) (.*)$')
if ticket then
    place = ticket .. ' ' .. (flags - 4) .. ' ' .. rest
end
local refusal = refuse()
if refusal then
    return refusal
end
local function keys_of(i)
    return keys[2 + i], keys[2 + count + i], keys[2 + 2 * count + i]
end
-- One that somebody has is asked for first: then nothing else needs to be touched.
local held = call('MGET', unpack(keys, 3 + 2 * count))
local first = 1
for i = count, 1, -1 do
    if held[i] == 'broken|' .. owner then
        -- An operator has broken it. Its owner is to find out and give back all of them itself: it may rely on the others until then.
        return {0, now, 0, call('PTTL', keys[2 + 2 * count + i]), held[i], i}
    end
    if held[i] and held[i] ~= owner then
        first = i
    end
end
local highest, numbers = 0, {}
for turn = 0, count do
    local i = turn == 0 and first or turn
    if turn == 0 or i ~= first then
        local fence_key, order_key, lock = keys_of(i)
        local kept = call('MGET', fence_key, order_key, lock)
        local answer = ask(lock, fence_key, order_key, kept[1], kept[2], kept[3], args[3])
        if type(answer) == 'table' and answer[1] ~= 1 then
            for other = 1, count do
                local its_fence, its_order, its_lock = keys_of(other)
                local its = call('MGET', its_lock, its_order)
                if other ~= i and not (ticket and its[1] == owner) then
                    give_back(its_lock, its_order, its_fence, its[1], its[2])
                end
            end
            if answer[1] == 0 then
                answer[#answer + 1] = i
            end
            return answer
        end
        numbers[i] = type(answer) == 'table' and answer[3] or args[3] + 0
        highest = math.max(highest, numbers[i])
    end
end
local text = string.format('%.0f', highest)
for i = 1, count do
    if numbers[i] < highest then
        call('SET', keys[2 + i], text, 'EX', '4200')
    end
end
if highest - now > 5000000 and highest > floor then
    call('SET', floor_key, text)
end
return highest == args[3] + 0 and now or {1, now, highest}

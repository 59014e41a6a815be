-- Gives back whatever an owner has here, and hands the lock on in the same step: its place in line, or the lock if it is still its own. A
-- release that leaves a waiter, a caller that gives up, and one that gives way to another are all this.
-- KEYS[1] lock  KEYS[2] order: see parts/order.lua  KEYS[3] epoch  KEYS[4] fence  KEYS[5] floor
-- ARGV[1] owner
-- Answers as release.lua: 1 it was the owner's, 0 held by another owner, -1 nothing there, -5 an operator had broken it.
local call = redis.call
local lock, order_key, fence_key, floor_key, owner = KEYS[1], KEYS[2], KEYS[4], KEYS[5], ARGV[1]
local kept = call('MGET', lock, order_key, KEYS[3], fence_key, floor_key)
local held, kept_order, epoch, last, floor = kept[1], kept[2], kept[3], kept[4], tonumber(kept[5] or '')
local broken = held == 'broken|' .. owner
local ours = held == owner or broken
local answer = broken and -5 or ours and 1 or held and 0 or -1
if not kept_order then
    if ours then
        call('DEL', lock)
    end
    return answer
end
local random = string.sub(owner, 1, 32)
-- include parts/order.lua
if order.id == random and order.given > 0 then
    order.write(order.ticket, random, 0)
end
if not ours then
    if call('ZREM', base .. 'waiters', random) == 1 then
        call('DEL', base .. random)
    end
    if answer == 0 or call('EXISTS', lock) == 1 then
        return answer
    end
end
local known = floor
if last then
    known = tonumber(last)
end
local given
-- A node that must not vote hands nothing on either.
if epoch and floor and floor >= 0 and floor < 9007199254740990 and known and known < 9007199254740990 then
    local time = call('TIME')
    local now = time[1] * 1000000 + time[2]
    local stored = known > floor and known or floor
    -- include parts/number.lua
    -- include parts/hand_on.lua
    given = hand_on()
end
if ours and not given then
    call('DEL', lock)
end
return answer

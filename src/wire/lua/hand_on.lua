-- Gives back whatever an owner has here, and hands the lock on in the same step: its place in line, or the lock if it is still its own, alone or shared. A
-- release that leaves a waiter, a caller that gives up, and one that gives way to another are all this.
-- KEYS[1] lock; what is kept beside it: see parts/keys.lua
-- ARGV[1] owner  ARGV[2] 's': what it has is shared; an owner that has it alone has nothing to do with such holds
-- Answers as release.lua: 1 it was the owner's, 0 held by another owner, -1 nothing there, -5 an operator had broken it.
local call, lock, owner = redis.call, KEYS[1], ARGV[1]
-- As in parts/keys.lua, and of the others only when they are needed.
local tagged = string.find(lock, '{', 1, true)
local order_key = tagged and 'redlock-line::' .. lock .. ':order' or 'redlock-line:{' .. lock .. '}:order'
local kept = call('MGET', lock, order_key)
local held, kept_order = kept[1], kept[2]
local shared = ARGV[2] == 's'
-- Most locks are given back by their owner while nobody is in line.
if held == owner and not kept_order and not shared then
    return call('DEL', lock)
end
local epoch_key, floor_key = 'redlock-guard:epoch', 'redlock-guard:floor'
local fence_key = tagged and 'redlock-fence:' .. lock or 'redlock-fence:{' .. lock .. '}'
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function free(key)
    call('DEL', key)
end
-- include parts/holds.lua
-- include parts/give_back.lua

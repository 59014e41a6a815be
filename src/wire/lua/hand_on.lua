-- Gives back whatever an owner has here, and hands the lock on in the same step: its place in line, or the lock if it is still its own, alone or shared. A
-- release that leaves a waiter, a caller that gives up, and one that gives way to another are all this.
-- KEYS[1] lock  KEYS[2] order: see parts/order.lua  KEYS[3] epoch  KEYS[4] fence  KEYS[5] floor
-- ARGV[1] owner  ARGV[2] 's': what it has is shared; an owner that has it alone has nothing to do with such holds
-- Answers as release.lua: 1 it was the owner's, 0 held by another owner, -1 nothing there, -5 an operator had broken it.
local call, keys = redis.call, KEYS
local lock, order_key, epoch_key, fence_key, floor_key, owner = keys[1], keys[2], keys[3], keys[4], keys[5], ARGV[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local shared = ARGV[2] == 's'
local kept = call('MGET', lock, order_key)
local held, kept_order = kept[1], kept[2]
local function free(key)
    call('DEL', key)
end
-- include parts/holds.lua
-- include parts/give_back.lua

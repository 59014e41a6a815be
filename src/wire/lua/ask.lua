-- One vote of a guarded node: takes the lock if the node is fit to vote, the lock is free and nobody is before the caller, and numbers the
-- grant. A caller that is ready to wait and cannot have the lock stands in the line that the node keeps, and hears of it when the lock is handed
-- to it (parts/hand_on.lua). The line decides who is given the lock next, never who has it: that is the ordinary majority.
-- KEYS[1] lock; what is kept beside it: see parts/keys.lua, and of the line parts/order.lua
-- ARGV[1] owner  ARGV[2] ttl in ms  ARGV[3] proposed fence  ARGV[4] epoch record the client knows, up to its id
-- ARGV[5] not after, in node time (us)  ARGV[6] '': the caller does not wait; else "ticket settled lease channel": the order in which it came
-- (us), 1 when a quorum has taken it in with that ticket, plus 2 when it wants to stand in line without this node's vote, for somebody else
-- has the lock, how long it is believed to be there unless it asks again (ms), and
-- where to tell it that it has the lock; no channel: it cannot be told, and asks now and then.
-- Answers  now (us)                        granted, with exactly the proposed fence
--          {1, now, fence}                 granted, with another fence
--          {0, now, fence, pttl, owner}    held, and it does not stand in line; 'shared|', how many share it, '|' and one of their owners; 'foreign': another program's
--          {0, now, fence, pttl, owner, place, ticket, ticket of the owner}    place from 1; its own ticket that counts here; 0 not known
--          {-3, now}                       epoch: this node is not what the client takes it for
--          {-4, now}                       late
-- An owner that has the lock here already is granted it again, with the number that it has, for its whole ttl: where there is a line.
-- Globals are looked up once, and texts become numbers by adding 0: this runs for every lock, and each costs a little.
local call, lock, args = redis.call, KEYS[1], ARGV
-- include parts/keys.lua
local owner, ttl, text, record, not_after, place = args[1], args[2], args[3], args[4], args[5], args[6]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', epoch_key, fence_key, floor_key, order_key, lock, checked_key)
local epoch, last, floor, kept_order, holder, checked = kept[1], kept[2], kept[3], kept[4], kept[5], kept[6]
-- include parts/fit.lua
-- include parts/stored.lua
-- include parts/take.lua
-- include parts/holds.lua
-- include parts/ask.lua

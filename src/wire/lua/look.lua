-- Who holds a lock, alone or shared. What is there may be anybody's, and of any size.
-- KEYS[1] lock
-- Answers the owner value; '' nothing is there; {owner, how many, owner, ...} those who share it, 64 at most, in an order that is the same on all nodes;
-- a number: it is a semaphore of so many slots
local call, lock = redis.call, KEYS[1]
-- include parts/slot_count.lua
-- include parts/look.lua

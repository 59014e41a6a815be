-- What is kept about the line of a name beside the waiters: "high ticket id given". high: the highest ticket that was given out here;
-- then the last waiter that was given the lock and whose ticket others may have to know, and when (us), unless it has been heard of
-- since; of a semaphore the first in line, and since when others have come in before it. Its key is there for as long as anybody may be in line, and goes
-- with the last: where it is not, nobody waits. Wants call, time, kept_order (its text) and order_key; base is what all keys of the line begin with.
-- order_write.lua keeps what has changed.
-- Making a text of a number costs more than many a command: what is written stays the text that it was read as, and now_text is now. So does a table or
-- a function that is made for one call, so they are avoided wherever a lock is handed on.
local base = string.sub(order_key, 1, -6)
local now_text = time[1] .. string.sub('00000' .. time[2], -6)
local high, given_ticket, given_id, given_at = string.match(kept_order or '', '^(%d+) (%d+) (%S+) (%d+)$')
local is_last = false -- of take_in.lua
if not high then
    high, given_ticket, given_id, given_at = '0', '0', '-', '0'
end

-- What is kept about the line of a name beside the waiters: "high ticket id given". high: the highest ticket that was given out here;
-- then the last waiter that was given the lock and whose ticket others may have to know, and when (us), unless it has been heard of
-- since. Its key is there for as long as anybody may be in line, and goes with the last: where it is not, nobody waits. Wants call, time, kept_order (its text)
-- and order_key; base is what all keys of the line begin with.
-- Making a text of a number costs more than many a command: what is written stays the text that it was read as, and now_text is now.
local base = string.sub(order_key, 1, -6)
local now_text = time[1] .. string.sub('00000' .. time[2], -6)
local order = {}
order.high, order.ticket, order.id, order.given = string.match(kept_order or '', '^(%d+) (%d+) (%S+) (%d+)$')
if not order.high then
    order.high, order.ticket, order.id, order.given = '0', '0', '-', '0'
end
-- All of them are texts. keeps: the key's end is far enough off.
function order.write(ticket, id, given, keeps)
    order.ticket, order.id, order.given = ticket, id, given
    local text = order.high .. ' ' .. ticket .. ' ' .. id .. ' ' .. given
    if keeps and kept_order then
        call('SET', order_key, text, 'KEEPTTL')
    else
        call('SET', order_key, text, 'PX', '60000')
    end
end

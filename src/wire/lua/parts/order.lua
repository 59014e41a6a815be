-- What is kept about the line of a name beside the waiters: "high ticket id given". high: the highest ticket that was given out here;
-- then the last waiter that was given the lock and whose ticket others may have to know, and when (us), unless it has been heard of
-- since. Its key is there for as long as anybody may be in line, and goes with the last: where it is not, nobody waits. Wants call, kept_order (its text)
-- and order_key; base is what all keys of the line begin with.
-- Making a text of such a number costs more than many a command, and of most of them there is one already: order.texts has those.
local base = string.sub(order_key, 1, -6)
local order = {high = 0, ticket = '0', id = '-', given = 0, texts = {[0] = '0'}}
do
    local high, ticket, id, given = string.match(kept_order or '', '^(%d+) (%d+) (%S+) (%d+)$')
    if high then
        order.high, order.ticket, order.id, order.given = high + 0, ticket, id, given + 0
        order.texts[order.high], order.texts[order.given] = high, given
    end
end
function order.text(number)
    return order.texts[number] or string.format('%.0f', number)
end
function order.write(ticket, id, given)
    order.ticket, order.id, order.given = ticket, id, given
    call('SET', order_key, order.text(order.high) .. ' ' .. ticket .. ' ' .. id .. ' ' .. order.text(given), 'PX', '60000')
end

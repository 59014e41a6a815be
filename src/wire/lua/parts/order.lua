-- What is kept about the line of a name beside the waiters: "high ticket id given". high: the highest ticket that was given out here;
-- then the last waiter that was given the lock and whose ticket others may have to know, and when (us), unless it has been heard of
-- since. Its key is there for as long as anybody may be in line, and goes with the last: where it is not, nobody waits. Wants call, kept_order (its text)
-- and order_key; base is what all keys of the line begin with.
local base = string.sub(order_key, 1, -6)
local order = {high = 0, ticket = '0', id = '-', given = 0}
do
    local high, ticket, id, given = string.match(kept_order or '', '^(%d+) (%d+) (%S+) (%d+)$')
    if high then
        order = {high = high + 0, ticket = ticket, id = id, given = given + 0}
    end
end
function order.write(ticket, id, given)
    order.ticket, order.id, order.given = ticket, id, given
    call('SET', order_key, string.format('%.0f %s %s %.0f', order.high, ticket, id, given), 'PX', '60000')
end

-- Puts a caller that waits in line. Wants call, time, now, base, order, random, owner, ttl, text and record; ticket, settled, lease and channel as its place says; and
-- mark: 's' for one that would share the lock, else ''; tail: what its record has in the end of its first line, else ''. Leaves the ticket that counts here.
-- A caller goes behind all who came before, whatever its clock says; but for two milliseconds, in which several may reach
-- the nodes in different orders and had better be sorted by their tickets. Once a quorum has taken it in, its ticket is the one
-- that all nodes are to go by.
do
    local before = call('ZSCORE', base .. 'waiters', random)
    local number = ticket + 0
    order.texts[number] = ticket
    order.texts[now] = time[1] .. string.format('%06d', time[2])
    if settled == '0' or settled == '2' then
        if before then
            number = math.max(number, before + 0)
        elseif number <= order.high - 2000 then
            number = order.high + 1
        end
    end
    ticket = order.text(number)
    order.texts[number] = ticket
    if number > order.high then
        order.high = number
    end
    order.write(order.ticket, order.id, order.given)
    local is_kept = call('PTTL', base .. 'waiters') >= 30000
    if not is_kept then
        -- Commands about several locks look for lines only where this says that there may be any: nobody stands in a line without it.
        call('SET', 'redlock-guard:lines', '1', 'PX', '60000')
    end
    if before ~= ticket then
        call('ZADD', base .. 'waiters', ticket, random)
    end
    if not is_kept then
        call('PEXPIRE', base .. 'waiters', '60000')
    end
    local head = mark .. order.text(now) .. ' ' .. text .. ' ' .. ttl .. ' ' .. channel .. tail
    call('SET', base .. random, head .. '\n' .. record .. '\n' .. owner, 'PX', lease)
end

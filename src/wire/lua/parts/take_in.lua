-- Puts a caller that waits in line. Wants call, what order.lua leaves behind, random, owner, ttl, text and record; ticket, settled, lease and channel as its place says; and
-- mark: 's' for one that would share the lock, else ''; tail: what its record has in the end of its first line, else ''. Leaves the ticket that counts here, and
-- is_last when nobody is behind the caller.
-- A caller goes behind all who came before, whatever its clock says; but for two milliseconds, in which several may reach
-- the nodes in different orders and had better be sorted by their tickets. Once a quorum has taken it in, its ticket is the one
-- that all nodes are to go by.
do
    local waiters, asked = base .. 'waiters', ticket
    local is_kept = call('PTTL', waiters) >= 30000
    if not is_kept then
        -- Commands about several locks look for lines only where this says that there may be any: nobody stands in a line without it.
        call('SET', 'redlock-guard:lines', '1', 'PX', '60000')
    end
    local unsettled = settled == '0' or settled == '2'
    if unsettled and ticket + 0 <= high - 2000 then
        ticket = string.format('%.0f', high + 1)
    end
    local is_new = call('ZADD', waiters, 'NX', ticket, random) == 1
    if not is_new then
        local before = call('ZSCORE', waiters, random)
        ticket = unsettled and before + 0 > asked + 0 and before or asked
        if before ~= ticket then
            call('ZADD', waiters, ticket, random)
        end
    end
    if not is_kept then
        call('PEXPIRE', waiters, '60000')
    end
    if ticket + 0 > high + 0 then
        high, is_last = ticket, is_new
    end
    if is_kept and kept_order then
        -- Its end is far enough off.
        call('SET', order_key, high .. ' ' .. given_ticket .. ' ' .. given_id .. ' ' .. given_at, 'KEEPTTL')
    else
        -- include order_write.lua
    end
    local head = mark .. now_text .. ' ' .. text .. ' ' .. ttl .. ' ' .. channel .. tail
    call('SET', base .. random, head .. '\n' .. record .. '\n' .. owner, 'PX', lease)
end

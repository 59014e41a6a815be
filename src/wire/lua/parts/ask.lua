-- The vote of ask.lua on one lock. Wants call, now, epoch, floor and what stored.lua leaves behind; lock, fence_key, floor_key and order_key; owner,
-- ttl, text (the proposed fence), record and place as they were asked; holder and kept_order as they are kept here.
-- A caller that waits and finds a key of another type in its way learns of that from the vote itself, and stands in line the second time.
for _ = 1, 2 do
    if kept_order or (place ~= '' and holder) then
        local random = string.sub(owner, 1, 32)
        -- include order.lua
        -- include hand_on.lua
        local ticket, settled, lease, channel = string.match(place, '^(%d+) ([0-3]) (%d+) (%S*)$')
        local yields = settled == '2' or settled == '3'
        if holder == owner and yields then
            call('DEL', lock)
            holder = nil
        end
        if holder == owner then
            -- It has been heard of: this confirms what it was handed.
            if call('PTTL', lock) < ttl + 0 then
                call('PEXPIRE', lock, ttl)
            end
            order.write(ticket or '0', random, 0)
            if last and known >= floor then
                return {1, now, known}
            end
            -- include number.lua
            -- include store.lua
            return {1, now, fence}
        end
        -- A key of another type was not read with the others. One that ends by itself is somebody's lock, and waited for as any other; of what
        -- does not the vote below says so.
        local there = holder and 0 or call('PTTL', lock)
        if there >= 0 and not holder then
            -- include no_slots.lua
            holder = 'foreign'
        end
        if holder or there == -2 then
            if ticket then
                -- A caller goes behind all who came before, whatever its clock says; but for two milliseconds, in which several may reach
                -- the nodes in different orders and had better be sorted by their tickets. Once a quorum has taken it in, its ticket is the one
                -- that all nodes are to go by.
                local before = call('ZSCORE', base .. 'waiters', random)
                local number = ticket + 0
                if settled == '0' or settled == '2' then
                    if before then
                        number = math.max(number, before + 0)
                    elseif number <= order.high - 2000 then
                        number = order.high + 1
                    end
                end
                ticket = string.format('%.0f', number)
                if number > order.high then
                    order.high = number
                end
                order.write(order.ticket, order.id, order.given)
                if before ~= ticket then
                    call('ZADD', base .. 'waiters', ticket, random)
                end
                call('PEXPIRE', base .. 'waiters', '60000')
                call('SET', base .. random, string.format('%.0f %s %s %s\n', now, text, ttl, channel) .. record .. '\n' .. owner, 'PX', lease)
            end
            local left
            if yields and not holder then
                left = -1
            elseif not holder then
                local fence, ms
                holder, fence, ms = hand_on()
                if holder == owner then
                    return fence == text + 0 and now or {1, now, fence}
                end
                stored, left = fence or stored, ms
            end
            if ticket then
                -- Free, but there is somebody before it whom this user may not tell: both ask again soon.
                left = tonumber(left) or holder and call('PTTL', lock) or 100
                local theirs = holder and order.id == string.sub(holder, 1, 32) and order.ticket or 0
                return {0, now, stored, left, string.sub(holder or '', 1, 511), call('ZRANK', base .. 'waiters', random) + 1, ticket + 0, theirs + 0}
            end
        end
    end
    -- include vote.lua
end

-- The vote of ask.lua on one lock. Wants call, now, epoch, floor and what stored.lua leaves behind; lock, fence_key, floor_key and order_key; owner,
-- ttl, text (the proposed fence), record and place as they were asked; holder and kept_order as they are kept here; and shared_holds of holds.lua.
-- A caller that waits and finds a key of another type in its way learns of that from the vote itself, and stands in line the second time.
local another = false
for _ = 1, 2 do
    if kept_order or (place ~= '' and (holder or another)) then
        local random = string.sub(owner, 1, 32)
        -- include order.lua
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
            given_ticket, given_id, given_at = ticket or '0', random, '0'
            -- include order_write.lua
            if last and known >= floor then
                return {1, now, known}
            end
            -- include number.lua
            -- include store.lua
            return {1, now, fence}
        end
        -- A key of another type was not read with the others: a lock that is shared, or another program's. What ends by itself is somebody's lock,
        -- and waited for as any other; of what does not the vote below says so.
        local there, shares = holder and 0 or call('PTTL', lock), nil
        if there >= 0 and not holder then
            -- include no_slots.lua
            local count_holds = shared_holds()
            shares = count_holds(lock)
            there = call('PTTL', lock)
            holder = not shares and there >= 0 and 'foreign' or nil
        end
        if holder or shares or there == -2 then
            if ticket then
                local mark, tail = '', ''
                -- include take_in.lua
            end
            local left
            if yields and not holder and not shares then
                left = -1
            elseif not holder and not yields then
                -- include hand_on.lua
                if given == owner then
                    return given_fence == text + 0 and now or {1, now, given_fence}
                end
                holder = not shares and given or nil
                stored, left = given_fence or stored, given_ms
            end
            if ticket then
                -- Free, but there is somebody before it whom this user may not tell: both ask again soon.
                left = tonumber(left) or (holder or shares) and call('PTTL', lock) or 100
                local theirs = (shares or holder and given_id == string.sub(holder, 1, 32)) and given_ticket or 0
                local named = string.sub(holder or '', 1, 511)
                if shares then
                    local _, _, _, name_holds = shared_holds()
                    named = name_holds(lock)
                end
                -- include rank.lua
                return {0, now, stored, left, named, rank, ticket + 0, theirs + 0}
            end
        end
    end
    -- include vote.lua
end

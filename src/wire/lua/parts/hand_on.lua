-- Hands the lock on to the first in line that hears of it; if that one would share it, to all those behind it, too, up to the next that would not. Wants
-- call, now, epoch, lock, what number.lua and store.lua want, what order.lua leaves behind, the functions of
-- holds.lua, and owner (of the caller; its random part is `random`). shares: how many share it already; nothing: nobody has it.
-- A waiter whose record ended is gone, and so is one that PUBLISH does not reach: it is passed over at once. A waiter that knows another
-- epoch of this node must not be given anything by it. Any waiter may have been stopped: it gets the lock for a second, and has to ask for the
-- rest. When one that wants no more than that has been heard of just now, nothing else is remembered; else, when it lets its time pass, those
-- who have not been heard of since are passed over, too: however many were stopped, they cost about a second. The living ask every 1.3 s
-- or sooner, so nobody is passed over who has been heard of within that.
-- Answers the owner that the lock was given to, its number and the ms it was given for; 'shared' when it is shared, and the number of the caller if it
-- is among those; nothing when there was nobody.
local function hand_on(shares)
    local waiters = base .. 'waiters'
    local since, master = 0, nil
    local given, own
    local unheard = order.given + 0
    if unheard > 0 and unheard <= now then
        since = math.min(unheard, now - 1400000)
    end
    local function put_back(id, ticket)
        call('ZADD', waiters, ticket, id)
        call('PEXPIRE', waiters, '60000')
        call('PEXPIRE', order_key, '60000')
    end
    while true do
        local first = call('ZPOPMIN', waiters)
        local id, ticket = first[1], first[2]
        if not id then
            -- Nobody is in line any more, and nobody has the lock: nothing is worth remembering.
            if not shares then
                call('DEL', order_key)
            end
            return given, own
        end
        local record = call('GET', base .. id)
        local mark, asked, text, ttl, channel, known_epoch, waiter = string.match(record or '', '^(s?)(%d+) (%d+) (%d+) (%S*)\n([^\n]*)\n(.*)$')
        local lives = asked and known_epoch ~= '' and string.sub(epoch, 1, #known_epoch) == known_epoch and (id == random or asked + 0 >= since)
        if lives and shares and mark == '' then
            put_back(id, ticket)
            return given, own
        end
        if lives then
            -- include number.lua
            -- Those who share it have one number, that of the first of them.
            local drawn = not (shares and last and known >= floor)
            if not drawn then
                fence, text = known, last
            end
            local brief = id ~= random and (ttl + 0 > 1000 or now - asked > 250000 or channel == '')
            local ms = brief and ttl + 0 > 1000 and '1000' or ttl
            local heard = 1
            if id ~= random and channel ~= '' then
                if not master then
                    -- The message is its own proof that this is still the master that the waiter knows.
                    local info = redis.pcall('INFO', 'replication')
                    local at = type(info) == 'string' and string.find(info, 'master_replid:', 1, true)
                    master = at and string.match(info, '^%x+', at + 14) or '-'
                end
                local head = now_text .. ' ' .. text .. ' ' .. ms .. ' ' .. master .. ' ' .. #waiter .. ' ' .. #known_epoch .. ' '
                heard = redis.pcall('PUBLISH', channel, head .. waiter .. known_epoch .. lock)
                if type(heard) == 'table' then
                    -- This user may not publish: it stays in line, and finds out by itself.
                    put_back(id, ticket)
                    return given, own
                end
            end
            if heard > 0 then
                call('DEL', base .. id)
                if brief then
                    order.write(ticket, id, now_text)
                end
                if drawn then
                    -- include store.lua
                    last, known, stored = text, fence, fence
                end
                if mark == '' then
                    call('SET', lock, waiter, 'PX', ms)
                    return waiter, fence, ms
                end
                if not shares then
                    call('DEL', lock)
                end
                add_hold(lock, 'shared|' .. waiter, ms)
                shares, given = true, 'shared'
                own = id == random and fence or own
                record = nil
            end
        end
        if record then
            call('DEL', base .. id)
        end
    end
end

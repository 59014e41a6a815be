-- Hands the lock on to the first in line that hears of it. Wants call, now, epoch, lock, what number.lua and store.lua want, base (what the keys of
-- the line begin with), order (what order.lua has read) and owner (of the caller; its random part is `random`).
-- A waiter whose record ended is gone, and so is one that PUBLISH does not reach: it is passed over at once. A waiter that knows another
-- epoch of this node must not be given anything by it. Any waiter may have been stopped: it gets the lock for a second, and has to ask for the
-- rest. When one that wants no more than that has been heard of just now, nothing else is remembered; else, when it lets its time pass, those
-- who have not been heard of since are passed over, too: however many were stopped, they cost about a second. The living ask every 1.3 s
-- or sooner, so nobody is passed over who has been heard of within that.
-- Answers the owner that the lock was given to, its number and the ms it was given for; nothing when there was nobody.
local function hand_on()
    local waiters = base .. 'waiters'
    local since = 0
    if order.given > 0 and order.given <= now then
        since = math.min(order.given, now - 1400000)
    end
    while true do
        local first = call('ZRANGE', waiters, 0, 0, 'WITHSCORES')
        local id, ticket = first[1], first[2]
        if not id then
            -- Nobody is in line any more, and nobody has the lock: nothing is worth remembering.
            call('DEL', order_key)
            return
        end
        call('ZREM', waiters, id)
        local record = call('GET', base .. id)
        local asked, text, ttl, channel, known_epoch, waiter = string.match(record or '', '^(%d+) (%d+) (%d+) (%S*)\n([^\n]*)\n(.*)$')
        if asked and known_epoch ~= '' and string.sub(epoch, 1, #known_epoch) == known_epoch and (id == random or asked + 0 >= since) then
            -- include number.lua
            local brief = id ~= random and (ttl + 0 > 1000 or now - asked > 250000 or channel == '')
            local ms = brief and ttl + 0 > 1000 and '1000' or ttl
            local heard = 1
            if id ~= random and channel ~= '' then
                -- The message is its own proof that this is still the master that the waiter knows.
                local info = redis.pcall('INFO', 'replication')
                local master = type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or '-'
                local head = string.format('%.0f %.0f %s %s %d %d ', now, fence, ms, master, #waiter, #known_epoch)
                heard = redis.pcall('PUBLISH', channel, head .. waiter .. known_epoch .. lock)
                if type(heard) == 'table' then
                    -- This user may not publish: it stays in line, and finds out by itself.
                    call('ZADD', waiters, ticket, id)
                    return
                end
            end
            if heard > 0 then
                -- include store.lua
                call('SET', lock, waiter, 'PX', ms)
                call('DEL', base .. id)
                if brief then
                    order.write(ticket, id, now)
                end
                return waiter, fence, ms
            end
        end
        if record then
            call('DEL', base .. id)
        end
    end
end

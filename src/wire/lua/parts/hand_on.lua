-- Hands the lock on to the first in line that hears of it; if that one would share it, to all those behind it, too, up to the next that would not. Wants
-- call, now, epoch, lock, what number.lua and store.lua want, what order.lua leaves behind, shared_holds of
-- holds.lua, and owner (of the caller; its random part is `random`). shares: how many share it already; nothing: nobody has it.
-- A waiter whose record ended is gone, and so is one that PUBLISH does not reach: it is passed over at once. A waiter that knows another
-- epoch of this node must not be given anything by it. Any waiter may have been stopped: it gets the lock for a second, and has to ask for the
-- rest. When one that wants no more than that has been heard of just now, nothing else is remembered; else, when it lets its time pass, those
-- who have not been heard of since are passed over, too: however many were stopped, they cost about a second. The living ask every 1.3 s
-- or sooner, so nobody is passed over who has been heard of within that.
-- Leaves given: the owner that the lock was given to, given_fence its number and given_ms how long it was given for; given is 'shared' when it is shared, and given_fence the number of
-- the caller if it is among those; nothing when there was nobody.
local given, given_fence, given_ms
do
    local waiters = base .. 'waiters'
    local since, unheard = 0, given_at + 0
    if unheard > 0 and unheard <= now then
        since = math.min(unheard, now - 1400000)
    end
    while true do
        local first = call('ZPOPMIN', waiters)
        local id, ticket = first[1], first[2]
        if not id then
            -- Nobody is in line any more, and nobody has the lock: nothing is worth remembering.
            if not shares then
                call('DEL', order_key)
            end
            break
        end
        local record = call('GET', base .. id) or ''
        local mark, asked, text, ttl, channel = string.match(record, '^(s?)(%d+) (%d+) (%d+) (%S*)\n')
        local known_epoch, waiter = '', ''
        if asked then
            local head_end = string.find(record, '\n', 1, true)
            local epoch_end = string.find(record, '\n', head_end + 1, true) or head_end
            known_epoch, waiter = string.sub(record, head_end + 1, epoch_end - 1), string.sub(record, epoch_end + 1)
        end
        local lives = known_epoch ~= '' and string.sub(epoch, 1, #known_epoch) == known_epoch and (id == random or asked + 0 >= since)
        -- One that would have it alone waits for those who share it.
        local stays, granted = lives and shares and mark == '', false
        if lives and not stays then
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
                local head = now_text .. ' ' .. text .. ' ' .. ms .. ' ' .. #waiter .. ' ' .. #known_epoch .. ' '
                heard = redis.pcall('PUBLISH', channel, head .. waiter .. known_epoch .. lock)
                -- This user may not publish: it stays in line, and finds out by itself.
                stays = type(heard) == 'table'
            end
            granted = not stays and heard > 0
            if granted then
                call('DEL', base .. id)
                if brief then
                    given_ticket, given_id, given_at = ticket, id, now_text
                    -- include order_write.lua
                end
                if drawn then
                    -- include store.lua
                    last, known, stored = text, fence, fence
                end
                if mark == '' then
                    call('SET', lock, waiter, 'PX', ms)
                    given, given_fence, given_ms = waiter, fence, ms
                    break
                end
                if not shares then
                    call('DEL', lock)
                end
                local _, _, add_hold = shared_holds()
                add_hold(lock, 'shared|' .. waiter, ms)
                shares, given = true, 'shared'
                given_fence = id == random and fence or given_fence
            end
        end
        if stays then
            call('ZADD', waiters, ticket, id)
            call('PEXPIRE', waiters, '60000')
            call('PEXPIRE', order_key, '60000')
            break
        end
        if not granted and record ~= '' then
            call('DEL', base .. id)
        end
    end
end

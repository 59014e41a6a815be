-- Hands one slot on to the first in line that takes it and hears of it; see hand_on.lua for the rules, which are the same. A waiter whose votes are split
-- takes one slot only, by its record: it keeps its place when another one is handed on. Wants what hand_on.lua wants, and what slots.lua leaves behind;
-- given is when the slot was handed to one that has not been heard of since (us; 0 none).
-- Answers the owner that the slot was given to, its number and the ms it was given for; nothing when there was nobody.
local function hand_on(slot, given)
    local waiters = base .. 'waiters'
    local since, stay = 0, {}
    if given > 0 and given <= now then
        since = math.min(given, now - 1400000)
    end
    local function done(...)
        for i = 1, #stay, 2 do
            call('ZADD', waiters, stay[i], stay[i + 1])
        end
        if stay[1] then
            call('PEXPIRE', waiters, '60000')
            call('PEXPIRE', order_key, '60000')
        end
        return ...
    end
    while true do
        local first = call('ZPOPMIN', waiters)
        local id, ticket = first[1], first[2]
        if not id then
            if not stay[1] then
                call('DEL', order_key)
            end
            return done()
        end
        local record = call('GET', base .. id)
        local asked, text, ttl, channel, only, known_epoch, waiter = string.match(record or '', '^(%d+) (%d+) (%d+) (%S*) (%d+)\n([^\n]*)\n(.*)$')
        local alive = asked and known_epoch ~= '' and string.sub(epoch, 1, #known_epoch) == known_epoch and (id == random or asked + 0 >= since)
        if alive and only ~= '0' and only + 0 ~= slot then
            stay[#stay + 1], stay[#stay + 2] = ticket, id
        else
            if alive then
                -- include number.lua
                local brief = id ~= random and (ttl + 0 > 1000 or now - asked > 250000 or channel == '')
                local ms = brief and ttl + 0 > 1000 and '1000' or ttl
                local heard = 1
                if id ~= random and channel ~= '' then
                    local info = redis.pcall('INFO', 'replication')
                    local found = type(info) == 'string' and string.find(info, 'master_replid:', 1, true)
                    local master = found and string.match(info, '^%x+', found + 14) or '-'
                    local head = 's' .. slot .. ' ' .. now_text .. ' ' .. text .. ' ' .. ms .. ' ' .. master .. ' ' .. #waiter .. ' ' .. #known_epoch .. ' '
                    heard = redis.pcall('PUBLISH', channel, head .. waiter .. known_epoch .. name)
                    if type(heard) == 'table' then
                        stay[#stay + 1], stay[#stay + 2] = ticket, id
                        return done()
                    end
                end
                if heard > 0 then
                    -- include store.lua
                    last, known, stored = text, fence, fence
                    call('SET', slot_key(slot), waiter, 'PX', ms)
                    write_note(slot, text, ticket, id, brief and now_text or '0')
                    keep_name(ms)
                    call('DEL', base .. id)
                    held[slot] = waiter
                    return done(waiter, fence, ms)
                end
            end
            if record then
                call('DEL', base .. id)
            end
        end
    end
end

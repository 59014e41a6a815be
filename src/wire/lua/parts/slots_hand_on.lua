-- Hands one slot on to the first in line that takes it and hears of it; see hand_on.lua for the rules, which are the same. A waiter whose votes are split
-- takes one slot only, by its record: it keeps its place when another one is handed on. Wants what hand_on.lua wants, slot_keys, and what slot_notes.lua leaves behind;
-- given is when the slot was handed to one that has not been heard of since (us; 0 none).
-- Answers the owner that the slot was given to, its number and the ms it was given for; nothing when there was nobody.
local function hand_on(slot, given)
    local waiters = base .. 'waiters'
    local since, stay = 0, nil
    local who, number, for_ms
    if given > 0 and given <= now then
        since = math.min(given, now - 1400000)
    end
    while true do
        local first = call('ZPOPMIN', waiters)
        local id, ticket = first[1], first[2]
        if not id then
            if not stay then
                call('DEL', order_key)
            end
            break
        end
        local record = call('GET', base .. id) or ''
        local asked, text, ttl, channel, only = string.match(record, '^(%d+) (%d+) (%d+) (%S*) (%d+)\n')
        local known_epoch, waiter = '', ''
        if asked then
            local head_end = string.find(record, '\n', 1, true)
            local epoch_end = string.find(record, '\n', head_end + 1, true) or head_end
            known_epoch, waiter = string.sub(record, head_end + 1, epoch_end - 1), string.sub(record, epoch_end + 1)
        end
        local lives = known_epoch ~= '' and string.sub(epoch, 1, #known_epoch) == known_epoch and (id == random or asked + 0 >= since)
        local stays, deaf = lives and only ~= '0' and only + 0 ~= slot, false
        if lives and not stays then
            -- include number.lua
            local brief = id ~= random and (ttl + 0 > 1000 or now - asked > 250000 or channel == '')
            local ms = brief and ttl + 0 > 1000 and '1000' or ttl
            local heard = 1
            if id ~= random and channel ~= '' then
                local head = 's' .. slot .. ' ' .. now_text .. ' ' .. text .. ' ' .. ms .. ' ' .. #waiter .. ' ' .. #known_epoch .. ' '
                heard = redis.pcall('PUBLISH', channel, head .. waiter .. known_epoch .. name)
                -- This user may not publish: it stays in line, and finds out by itself.
                deaf = type(heard) == 'table'
            end
            if not deaf and heard > 0 then
                -- include store.lua
                last, known, stored = text, fence, fence
                call('SET', slot_keys[slot], waiter, 'PX', ms)
                write_note(slot, text, ticket, id, brief and now_text or '0')
                keep_name(ms)
                call('DEL', base .. id)
                held[slot] = waiter
                who, number, for_ms = waiter, fence, ms
                break
            end
        end
        if stays or deaf then
            stay = stay or {}
            stay[#stay + 1], stay[#stay + 2] = ticket, id
        elseif record ~= '' then
            call('DEL', base .. id)
        end
        if deaf then
            break
        end
    end
    if stay then
        for i = 1, #stay, 2 do
            call('ZADD', waiters, stay[i], stay[i + 1])
        end
        call('PEXPIRE', waiters, '60000')
        call('PEXPIRE', order_key, '60000')
    end
    return who, number, for_ms
end

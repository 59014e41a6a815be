-- Hands one slot on to the first in line that takes it and hears of it; see hand_on.lua for the rules, which are the same. A waiter whose votes are split
-- takes one slot only, by its record: it keeps its place when another one is handed on. Wants what hand_on.lua wants, slot_keys, and what slot_notes.lua leaves behind;
-- given is when the slot was handed to one that has not been heard of since (us; 0 none).
-- Slots that come free at the same moment do so in another order at each node, and the first in line would be given a different one by each. So of
-- those that came within a tenth of a second of the first, a slot goes to the one whose own number, which is part of its owner value, is next to it: then mostly
-- all nodes choose alike, whatever the order. The first in line is passed like that for a tenth of a second at most; given_id and given_at of order.lua say which one it is,
-- and since when. Tickets ahead of this clock say nothing about when their callers came: those come in as they stand in line.
-- Answers which of the front it is, and whether there is nothing to be noted about the first.
local function choose(front, slot)
    local chosen, least = 1, count
    local is_known = front[1] == given_id
    local waited = is_known and now - given_at or 0
    if count == 1 or not string.find(front[1] or '', '^%S+$') then
        return 1, true
    end
    for i = 1, waited >= 0 and waited <= 100000 and #front or 0, 2 do
        local apart = ((tonumber(string.sub(front[i], 1, 7), 16) or 0) - slot) % count
        if least == 0 or front[i + 1] - front[2] > 100000 or front[i + 1] - now > 100000 then
            break
        end
        if apart < least then
            chosen, least = i, apart
        end
    end
    return chosen, is_known
end
-- Other slots may have been given out by higher numbers since a waiter asked. Its own number has to be above those of its slot, and of whatever was there
-- when it came into line: its record has one that is (slots_ask.lua), and if it can have that, all nodes agree.
local function keep_number(fence, text)
    if fence > stored then
        -- include store.lua
        last, known, stored = text, fence, fence
    end
end
-- Answers the owner that the slot was given to, its number and the ms it was given for; nothing when there was nobody.
local function hand_on(slot, given)
    local waiters = base .. 'waiters'
    local since, stay, width = 0, 0, count > 1 and math.min(2 * count, 16) or 1
    local who, number, for_ms
    if given > 0 and given <= now then
        since = math.min(given, now - 1400000)
    end
    local front = call('ZRANGE', waiters, '0', width - 1, 'WITHSCORES')
    local chosen, is_noted = choose(front, slot)
    local first, at, following = front[1], chosen, 1
    while front[at] do
        local id, ticket = front[at], front[at + 1]
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
            local wanted, slot_last = text + 0, tonumber((note(slot)) or '') or stored
            if wanted <= slot_last or wanted <= floor or wanted - now > 5000000 or now - wanted > 60000000 then
                -- include number.lua
            end
            local fence = text + 0
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
                -- This comes first, for a node that is full lets a script write only after something that needs no room.
                call('ZREM', waiters, id)
                if id ~= first and not is_noted then
                    given_id, given_at = first, now_text
                    -- include order_write.lua
                end
                keep_number(fence, text)
                call('SET', slot_keys[slot], waiter, 'PX', ms)
                write_note(slot, text, ticket, id, brief and now_text or '0')
                keep_name(ms)
                call('DEL', base .. id)
                held[slot] = waiter
                who, number, for_ms = waiter, fence, ms
                break
            end
        end
        if deaf then
            stay = stay + 1
            break
        end
        -- Those that take another slot only keep their places. When all of the front were looked at they are what is left of it, and others stand behind them.
        if stays then
            stay = stay + 1
        else
            call('ZREM', waiters, id)
            call('DEL', base .. id)
        end
        at = following == chosen and following + 2 or following
        following = at + 2
        if at > #front then
            front = call('ZRANGE', waiters, stay, stay + width - 1, 'WITHSCORES')
            chosen, at, following = 0, 1, 3
        end
    end
    if not who and stay == 0 then
        call('DEL', order_key)
    end
    return who, number, for_ms
end

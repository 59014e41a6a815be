-- Hands one slot on to the first in line that takes it and hears of it; see hand_on.lua for the rules, which are the same. A waiter whose votes are split
-- takes one slot only, by its record: it keeps its place when another one is handed on. Wants what hand_on.lua wants, slot_keys, and what slot_notes.lua leaves behind;
-- given is when the slot was handed to one that has not been heard of since (us; 0 none).
-- Slots that come free at the same moment do so in another order at each node, and the first in line would be given a different one by each. So of
-- those that came within a tenth of a second of the first, a slot goes to the one whose own number, which is part of its owner value, is next to it: nodes
-- choose alike, whatever the order. The first in line is passed like that for a tenth of a second at most; given_id and given_at of order.lua say which one it is, and
-- since when.
local function next_in_line(slot)
    local front = call('ZRANGE', base .. 'waiters', '0', count > 1 and math.min(3 * count, 30) - 1 or 0, 'WITHSCORES')
    local chosen, least = 1, count
    local is_known = front[1] == given_id
    local waited = is_known and now - given_at or 0
    if waited >= 0 and waited <= 100000 then
        for i = 1, #front, 2 do
            local apart = ((tonumber(string.sub(front[i], 1, 7), 16) or 0) - slot) % count
            if least == 0 or front[i + 1] - front[2] > 100000 then
                break
            end
            if apart < least then
                chosen, least = i, apart
            end
        end
    end
    if chosen > 1 and not is_known then
        given_id, given_at = front[1], now_text
        -- include order_write.lua
    end
    if front[1] then
        call('ZREM', base .. 'waiters', front[chosen])
    end
    return front[chosen], front[chosen + 1]
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
    local since, stay = 0, nil
    local who, number, for_ms
    if given > 0 and given <= now then
        since = math.min(given, now - 1400000)
    end
    while true do
        local id, ticket = next_in_line(slot)
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
        call('SET', 'redlock-guard:lines', '1', 'PX', '60000')
    end
    return who, number, for_ms
end

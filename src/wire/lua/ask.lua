-- One vote of a guarded node for a caller that is ready to wait: as acquire.lua, but a caller that cannot have the lock stands in the line that
-- the node keeps, and hears of it when the lock is handed to it (parts/hand_on.lua). The line decides who is given the lock
-- next, never who has it: that is still the ordinary majority.
-- KEYS[1] lock  KEYS[2] fence  KEYS[3] epoch  KEYS[4] floor  KEYS[5] order: see parts/order.lua; the keys of the line begin like it
-- ARGV[1..5] as in acquire.lua  ARGV[6] '': the caller does not wait; else "ticket settled lease channel": the order in which it came
-- (us), 1 when a quorum has taken it in with that ticket, how long it is believed to be there unless it asks again (ms), and
-- where to tell it that it has the lock; no channel: it cannot be told, and asks now and then.
-- Answers as acquire.lua, but to one that stands in line
--          {0, now, fence, pttl, owner, place, ticket, ticket of the owner}    place from 1; its own ticket that counts here; 0 not known
-- An owner that has the lock here already is granted it again, with the number that it has, for its whole ttl.
local call, keys, args = redis.call, KEYS, ARGV
local lock, fence_key, floor_key, order_key = keys[1], keys[2], keys[4], keys[5]
local owner, ttl, text, record, not_after, place = args[1], args[2], args[3], args[4], args[5], args[6]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', keys[3], fence_key, floor_key, order_key, lock)
local epoch, last, floor, kept_order, holder = kept[1], kept[2], kept[3], kept[4], kept[5]
-- include parts/fit.lua
-- include parts/stored.lua
if kept_order or (place ~= '' and holder) then
    local random = string.sub(owner, 1, 32)
    -- include parts/order.lua
    -- include parts/number.lua
    -- include parts/hand_on.lua
    local ticket, settled, lease, channel = string.match(place, '^(%d+) ([01]) (%d+) (%S*)$')
    if holder == owner then
        -- It has been heard of: this confirms what it was handed.
        if call('PTTL', lock) < ttl + 0 then
            call('PEXPIRE', lock, ttl)
        end
        order.write(ticket or '0', random, 0)
        local fence = known
        if not last or fence < floor then
            fence = choose_number(text + 0)
            store_number(fence)
        end
        return {1, now, fence}
    end
    -- What is there may be of another type, which is no concern of the line: the vote below says so.
    if holder or call('EXISTS', lock) == 0 then
        if ticket then
            -- A caller goes behind all who came before, whatever its clock says; but for two milliseconds, in which several may reach
            -- the nodes in different orders and had better be sorted by their tickets. Once a quorum has taken it in, its ticket is the one
            -- that all nodes are to go by.
            local before = call('ZSCORE', base .. 'waiters', random)
            local number = ticket + 0
            if settled == '0' then
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
        if not holder then
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
-- include parts/vote.lua

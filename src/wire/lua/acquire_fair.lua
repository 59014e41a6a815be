-- One vote of a guarded node on a fair lock: as acquire.lua, but only for the first of a line that the node keeps. The line
-- decides who is asked to take the lock, never who has it: that is still the ordinary majority.
-- KEYS[1..4] and ARGV[1..5] as in acquire.lua
-- KEYS[5] line: waiters by ticket  KEYS[6] state: high, offer, since  KEYS[7] this waiter's lease: while it is there, he is
-- ARGV[6] id of the waiter  ARGV[7] ticket (us)  ARGV[8] lease in ms  ARGV[9] grace in ms  ARGV[10] who waits
-- ARGV[11] 1: the ticket is settled, for a quorum had taken this waiter in with it
-- Answers as acquire.lua, but
--          {0, now, fence, pttl, owner, place, ticket}         held; place in the line here from 1, and the ticket that counts here
--          {0, now, fence, ms of grace left, '', place, ticket} free, but offered to another
-- include parts/question.lua
-- include parts/fit.lua
-- include parts/stored.lua
do
    -- First of all, so that a key of another type is refused before anybody is taken in.
    local holder = redis.pcall('GET', KEYS[1])
    if type(holder) == 'table' then
        if call('PTTL', KEYS[1]) < 0 then
            return holder
        end
        holder = 'foreign' -- as in parts/vote.lua
    end
    local line, state, id = KEYS[5], KEYS[6], ARGV[6]
    local leases = string.sub(KEYS[7], 1, -1 - string.len(id))
    local remembered = call('HMGET', state, 'high', 'offer', 'since')
    local high = tonumber(remembered[1] or 0)
    -- include parts/line.lua
    local first = find_first()
    local waits = holder or first
    -- Whoever comes later goes behind all who came before, whatever his clock says; but for two milliseconds, in which
    -- several may reach the nodes in different orders and had better be sorted by their tickets. Once a quorum has taken him
    -- in, his ticket is the one that all nodes are to go by.
    local place = tonumber(ARGV[7])
    local before = waits and call('ZSCORE', line, id)
    if ARGV[11] ~= '1' then
        if before then
            place = math.max(place, tonumber(before))
        elseif place <= high - 2000 then
            place = high + 1
        end
    end
    local text = string.format('%.0f', place)
    -- All of it ends by itself once nobody asks any more.
    local life = math.max(10 * tonumber(ARGV[8]), 60000)
    if place > high then
        call('HSET', state, 'high', text)
    end
    call('PEXPIRE', state, life)
    if waits then
        if before ~= text then
            call('ZADD', line, text, id)
            moved = moved or before and place > tonumber(before)
        end
        call('SET', KEYS[7], ARGV[10], 'PX', ARGV[8])
        call('PEXPIRE', line, life)
        first = find_first()
        -- An offer is good for one time of being free: the next one has another fence.
        local fence = string.format(' %.0f', stored)
        local since = tonumber(remembered[3] or now)
        local grace = tonumber(ARGV[9]) * 1000
        if not holder and first ~= id and remembered[2] == first .. fence and now - since > grace then
            -- He had his chance. Should he still be alive, he comes back with his settled ticket.
            call('ZREM', line, first)
            call('DEL', leases .. first)
            moved = true
            first = find_first()
        end
        local mine = not holder and first == id
        if mine then
            call('ZREM', line, id)
            call('DEL', KEYS[7])
            moved = true
        end
        if moved then
            wake_first_two()
        end
        if holder or mine then
            if remembered[2] then
                call('HDEL', state, 'offer', 'since')
            end
        elseif remembered[2] ~= first .. fence or since > now then
            since = now
            call('HSET', state, 'offer', first .. fence, 'since', string.format('%.0f', now))
        end
        if not mine then
            local left = holder and call('PTTL', KEYS[1]) or math.max(math.ceil((since + grace - now) / 1000), 1)
            return {0, now, stored, left, string.sub(holder or '', 1, 511), call('ZRANK', line, id) + 1, place}
        end
    end
end
-- include parts/vote.lua

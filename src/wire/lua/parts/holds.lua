-- Holds that are shared: a sorted set under the key of the lock, 'shared|' and the owner by when its hold ends (ms by this node's clock), or 'broken|' and the
-- owner for a hold that an operator has broken (see break.lua). Each ends for itself, and the key with the last of them. Wants call and now (us). A sorted set
-- that another program made is none of this, and stays as it is. shared_holds() makes the functions; most calls need none of them.
local function shared_holds()
    local now_ms = math.floor(now / 1000)
    -- How many there are, without those that have ended; nothing: it is not shared.
    local function count_holds(key)
        local mark = string.sub(redis.pcall('ZRANGE', key, 0, 0)[1] or '', 1, 7)
        if mark == 'shared|' or mark == 'broken|' then
            local ended = call('ZRANGEBYSCORE', key, '-inf', '(' .. now_ms, 'LIMIT', '0', '1000')
            if ended[1] then
                call('ZREM', key, unpack(ended))
            end
            local count = call('ZCOUNT', key, now_ms, '+inf')
            return count > 0 and count or nil
        end
    end
    -- The key lives for as long as the last of them.
    local function end_with_last(key)
        local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
        if last[2] then
            call('PEXPIRE', key, math.max(last[2] - now_ms, 1))
        end
    end
    -- Never shortens what is there: a holder may stand in line here still, and be handed what it has, for less.
    local function add_hold(key, member, ms)
        local ends = call('ZSCORE', key, member)
        if not ends or ends + 0 < now_ms + ms then
            if ends then
                -- A node that is full lets a script write only after something that needs no room.
                call('PEXPIRE', key, math.max(call('PTTL', key), 1))
            end
            call('ZADD', key, now_ms + ms, member)
            end_with_last(key)
        end
    end
    -- Who has it, for those who are refused: how many, and one of the first 64: the least of them is most likely the same on all nodes.
    local function name_holds(key)
        local least
        for _, member in ipairs(call('ZRANGE', key, 0, 63)) do
            local owner = string.sub(member, 1, 7) == 'shared|' and string.sub(member, 8) or member
            least = least and least < owner and least or owner
        end
        return 'shared|' .. call('ZCOUNT', key, now_ms, '+inf') .. '|' .. string.sub(least, 1, 518)
    end
    return count_holds, end_with_last, add_hold, name_holds
end

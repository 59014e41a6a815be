-- One vote of a guarded node for one of several that share a lock: as ask.lua, but that others who share it are not in the way; only one that has it
-- alone is, or waits for it in line before the caller. What a shared lock looks like is in parts/holds.lua. The first of those who share it is numbered
-- as one that has it alone, and the others have the same number: it is above that of everybody who had it alone before, and below that of the next.
-- KEYS and ARGV as of ask.lua
-- Answers  {1, now, fence}   granted; and what else ask.lua answers
local call, lock, args = redis.call, KEYS[1], ARGV
-- include parts/keys.lua
local owner, ttl, text, record, not_after, place = args[1], args[2], args[3], args[4], args[5], args[6]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = call('MGET', epoch_key, fence_key, floor_key, order_key, lock, checked_key)
local epoch, last, floor, kept_order, holder, checked = kept[1], kept[2], kept[3], kept[4], kept[5], kept[6]
-- include parts/fit.lua
-- include parts/stored.lua
-- include parts/holds.lua
local count_holds, end_with_last, add_hold, name_holds = shared_holds()
local random = string.sub(owner, 1, 32)
-- include parts/order.lua
local member = 'shared|' .. owner
local ticket, settled, lease, channel = string.match(place, '^(%d+) ([0-3]) (%d+) (%S*)$')
local yields = settled == '2' or settled == '3'
local shares = not holder and count_holds(lock) or nil
local function number_share()
    if shares and last and known >= floor then
        return known
    end
    -- include parts/number.lua
    -- include parts/store.lua
    return fence
end
local own = shares and call('ZSCORE', lock, member)
if own and yields then
    call('ZREM', lock, member)
    end_with_last(lock)
    shares, own = count_holds(lock), nil
end
if own then
    -- It has been heard of: this confirms what it was handed.
    add_hold(lock, member, ttl)
    if kept_order or ticket then
        given_ticket, given_id, given_at = ticket or '0', random, '0'
        -- include parts/order_write.lua
    end
    return {1, now, number_share()}
end
if not holder and not shares then
    local there = call('PTTL', lock)
    if there ~= -2 then
        -- include parts/no_slots.lua
    end
    if there == -1 then
        return redis.pcall('GET', lock) -- of another type, and without an end: it is no lock
    end
    holder = there >= 0 and 'foreign' or nil
end
-- Nobody who has it alone, and nobody in line: it is as free to the caller as can be.
local function join()
    local number = number_share()
    add_hold(lock, member, ttl)
    return {1, now, number}
end
if not holder and not yields and not (kept_order and call('ZCOUNT', base .. 'waiters', '-inf', '+inf') > 0) then
    return join()
end
if ticket then
    local mark, tail = 's', ''
    -- include parts/take_in.lua
end
local left
if yields and not holder and not shares then
    left = -1
elseif not holder and not yields then
    -- include parts/hand_on.lua
    if given == 'shared' and given_fence then
        return {1, now, given_fence}
    end
    holder = given ~= 'shared' and given or nil
    if not ticket and not holder and call('ZCOUNT', base .. 'waiters', '-inf', '+inf') == 0 then
        return join()
    end
    if holder then
        stored, left = given_fence, given_ms
    end
end
local named = holder and string.sub(holder, 1, 511) or shares and name_holds(lock) or ''
left = tonumber(left) or named ~= '' and call('PTTL', lock) or 100
if not ticket then
    return {0, now, stored, left, named}
end
local theirs = (shares or given_id == string.sub(named, 1, 32)) and given_ticket or 0
-- include parts/rank.lua
return {0, now, stored, left, named, rank, ticket + 0, theirs + 0}

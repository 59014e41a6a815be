-- Gives back whatever an owner has of one lock, and hands the lock on; see hand_on.lua. Wants call, time, now, lock, order_key, fence_key, epoch_key and
-- floor_key; owner; shared: its hold is a shared one; held and kept_order as they are kept here; shared_holds of holds.lua; and free(key), which deletes a lock.
-- What an owner has in the other way is not touched, nor is its place in line: its caller takes it for something that it is not.
local broken = held == 'broken|' .. owner
local ours = held == owner or broken
if ours and shared then
    return 0
end
local answer = broken and -5 or ours and 1 or held and 0 or -1
-- What is no text may be shared.
local shares
local count_holds, end_with_last
if not held then
    count_holds, end_with_last = shared_holds()
    shares = count_holds(lock)
end
if shares then
    answer = 0
    if not shared and (call('ZSCORE', lock, 'shared|' .. owner) or call('ZSCORE', lock, 'broken|' .. owner)) then
        return 0
    end
end
if shares and shared then
    answer = call('ZREM', lock, 'shared|' .. owner) == 1 and 1 or call('ZREM', lock, 'broken|' .. owner) == 1 and -5 or 0
    end_with_last(lock)
    shares = count_holds(lock)
end
if not kept_order then
    if ours then
        free(lock)
    end
    return answer
end
local random = string.sub(owner, 1, 32)
-- include order.lua
-- It may have both: a holder is given the lock at nodes where it still stood in line, too. This comes first, for a node that is full lets a
-- script write only after something that needs no room.
if call('ZREM', base .. 'waiters', random) == 1 then
    call('DEL', base .. random)
end
if given_id == random and given_at ~= '0' then
    given_at = '0'
    -- include order_write.lua
end
if not ours and not shares then
    if held or call('PTTL', lock) ~= -2 then
        -- The last one has left: but for the ticket of the one that has the lock, nothing is worth remembering.
        if given_id ~= string.sub(held or '', 1, 32) and call('PTTL', base .. 'waiters') == -2 then
            call('DEL', order_key)
        end
        return answer
    end
end
local kept = call('MGET', epoch_key, fence_key, floor_key, 'redlock-guard:checked')
local epoch, last, floor, checked = kept[1], kept[2], tonumber(kept[3] or ''), kept[4]
local known = floor
if last then
    known = tonumber(last)
end
local handed
-- A node that must not vote hands nothing on either.
if epoch and floor and floor >= 0 and floor < 9007199254740990 and known and known < 9007199254740990 then
    -- include same_master.lua
    if is_same then
        local stored = known > floor and known or floor
        -- include hand_on.lua
        handed = given
    end
end
if ours and not handed then
    free(lock)
end
return answer

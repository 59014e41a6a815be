-- The vote in by far the most cases: takes a lock that is free where nobody is in line, and numbers the grant. Comes before anything that is only
-- needed otherwise: this runs for every lock. Wants what vote.lua wants, and holder and kept_order as they are kept here.
-- SET NX, although nothing was read: a key of another type is in the way too.
if not kept_order and not holder and call('SET', lock, owner, 'NX', 'PX', ttl) then
    -- include number.lua
    -- include store.lua
    if fence == proposed then
        return now
    end
    return {1, now, fence}
end

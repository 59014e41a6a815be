-- Whether this node may vote on this question at all. Wants now, epoch, floor and checked as they are kept here, record (what the client
-- knows of the epoch: as much of it as changes when memory is lost) and not_after; makes a number of floor.
if not epoch or not floor or record == '' or string.sub(epoch, 1, #record) ~= record then
    return {-3, now}
end
if now > not_after + 0 then
    return {-4, now}
end
-- include same_master.lua
if not is_same then
    return {-3, now}
end
-- Above 2^53 adding one changes nothing: there would be no next number. No grant of ours can have led there.
floor = tonumber(floor)
if not (floor and floor >= 0 and floor < 9007199254740990) then
    return {-3, now}
end

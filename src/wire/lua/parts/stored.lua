-- The highest number this name can have met here: wants last (the fence kept for it, if any) and floor, leaves known and
-- stored behind. A node restored from an old snapshot has old fences, but a floor that it was told since; so the floor counts
-- even where there is a fence.
local known = floor
if last then
    -- Not by adding 0: what is no number would raise an error, and end the votes of others in the same command.
    known = tonumber(last)
end
if not (known and known < 9007199254740990) then
    return redis.error_reply('ERR redlock: the fence stored for this name is out of range')
end
local stored = known > floor and known or floor

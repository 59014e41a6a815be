-- The number of a grant: above everything stored for this name (the floor stands for what was forgotten), not far from the node's
-- own clock, and if possible the one proposed, for then all nodes agree. Wants now, stored and text (the proposal); leaves proposed, fence, and
-- its text. What has to be done with it is in store.lua.
-- A waiter's proposal is as old as its wait; it may lag by a minute, and no more.
local proposed = text + 0
local fence = proposed
if fence - now > 5000000 or now - fence > 60000000 then
    fence = now
end
if fence <= stored then
    fence = stored + 1
end
if fence ~= proposed then
    text = string.format('%.0f', fence)
end

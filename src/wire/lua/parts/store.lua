-- Keeps the number of a grant. Wants call, now, last, known, floor, fence_key, floor_key, and what number.lua leaves behind.
-- Its key lives for an hour after its last use, for there are as many as names; the clock, and the floor, cover it then. Pushing its
-- end out every ten minutes is enough, and costs less than every time: not when the last number is of the same ten minutes.
if last and known >= fence - fence % 600000000 then
    call('SET', fence_key, text, 'KEEPTTL')
else
    call('SET', fence_key, text, 'EX', '4200')
end
-- Numbers whose keys are gone are below the floor when it is less than an hour behind the clock, even if that is set back.
if now - floor > 3500000000 then
    floor = now - 3000000000
    call('SET', floor_key, string.format('%.0f', floor))
end
-- A number ahead of the clock would be undercut after its key has expired: the floor keeps it for ever.
if fence - now > 5000000 and fence > floor then
    call('SET', floor_key, text)
    floor = fence
end

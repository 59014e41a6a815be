-- Whether the name is free for a semaphore of so many slots, or is one. Wants call, name and count; words says what is in the way, nil nothing is.
local words
do
    local kept = redis.pcall('HGET', name, 'slots')
    if type(kept) == 'table' then
        local kinds = {string = 'an exclusive lock', zset = 'a shared lock'}
        words = kinds[call('TYPE', name).ok] or 'something else'
    elseif kept and kept ~= tostring(count) then
        words = 'a semaphore of ' .. kept .. ' slots'
    elseif not kept and call('EXISTS', name) == 1 then
        words = 'something else'
    end
end

-- Whether the name is free for a semaphore of so many slots, or is one. Wants call, name and count; words says what is in the way, nil nothing is, and of_others
-- how many slots it has, if it is a semaphore, too, but one of another number of slots.
local words, of_others
do
    local kept = redis.pcall('HGET', name, 'slots')
    if type(kept) == 'table' then
        local kinds = {string = 'an exclusive lock', zset = 'a shared lock'}
        words = kinds[call('TYPE', name).ok] or 'something else'
    elseif kept and kept ~= tostring(count) then
        -- include slot_count.lua
        of_others = slot_count(name)
        words = of_others and 'a semaphore of ' .. of_others .. ' slots' or 'something else'
    elseif not kept and call('EXISTS', name) == 1 then
        words = 'something else'
    end
end

-- Looks for any lock that is held on this node, whatever its name: before somebody says that none is. A lock is a text that has an
-- end and begins as our owner values do, or a sorted set of such. At most a hundred thousand keys are looked at: it must not keep the node for long.
-- KEYS[1] floor
-- Answers {1, now (us), floor}                      none was seen; floor 1: none is known
--         {0, now, floor, pttl, owner, words}       one was
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local floor = tonumber(redis.call('GET', KEYS[1]) or '')
if not (floor and floor > 0 and floor < 9007199254740990) then
    floor = 1
end
local owner = '^' .. string.rep('%x', 32)
local cursor = '0'
for _ = 1, 100 do
    -- The user may lack the right to it, or to what is found.
    local page = redis.pcall('SCAN', cursor, 'COUNT', '1000')
    if page.err then
        break
    end
    for _, key in ipairs(page[2]) do
        local value = string.sub(key, 1, 14) ~= 'redlock-fence:' and redis.pcall('GETRANGE', key, '0', '517')
        if type(value) == 'table' then
            -- Of another type: those who share a lock; see parts/holds.lua.
            local member = redis.pcall('ZRANGE', key, -1, -1)[1] or ''
            value = string.sub(member, 1, 7) == 'shared|' and string.sub(member, 8) or member
        end
        if type(value) == 'string' and string.sub(value, 1, 7) == 'broken|' then
            value = string.sub(value, 8) -- its holder may not know yet
        end
        if type(value) == 'string' and string.find(value, owner) and (#value == 32 or string.sub(value, 33, 33) == '|') then
            local left = redis.call('PTTL', key)
            if left > 0 then
                return {0, now, floor, left, string.sub(value, 1, 511), 'it has the lock "' .. string.sub(key, 1, 60) .. '"'}
            end
        end
    end
    cursor = page[1]
    if cursor == '0' then
        break
    end
end
return {1, now, floor}

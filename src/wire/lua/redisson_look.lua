-- Who holds a lock in Redisson's format. What is there may be anybody's hash, of any size.
-- KEYS[1] lock   ARGV[1] 1: for a reader, whom other readers are not in the way of
-- Answers the owner; '' nobody, or too many to name one; nothing: only readers have it, and a reader asks
--         {the owner}   readers share it, and this is one of them
local mode = redis.pcall('HGET', KEYS[1], 'mode')
if type(mode) == 'table' then
    return mode
end
if mode == 'read' and ARGV[1] == '1' then
    return false
end
local first = ''
if redis.call('HLEN', KEYS[1]) <= 100 then
    -- Nodes keep fields in different orders; the least of them is the same on all.
    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
        if field ~= 'mode' and (first == '' or field < first) then
            first = field
        end
    end
end
if mode == 'write' then
    first = string.gsub(first, ':write$', '')
end
first = string.sub(first, 1, 511)
return mode == 'read' and {first} or first

-- How many slots the semaphore of this name has; nothing: it is none. A hash that another program made may have such a field, too, with anything in it.
local function slot_count(key)
    local kept = redis.pcall('HGET', key, 'slots')
    local count = type(kept) == 'string' and string.match(kept, '^[1-9]%d*$')
    return count and #count <= 4 and count + 0 <= 1000 and count + 0 or nil
end

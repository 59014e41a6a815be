-- Looks for one holder of a lock, by its id or its whole owner value, however many share the lock or have slots of it. Changes nothing.
-- KEYS[1] lock  KEYS[2] order: what the keys of the slots begin like
-- ARGV[1] the id, or the owner value  ARGV[2] only the holder of this slot; 0 of any
-- Answers {owner, how many, owner, ...} as look.lua, but only those who are named so; {owner, 0, slot, number of slots, owner, ...} the same of a semaphore;
-- where nobody is, or the lock is held alone, what look.lua answers
local call, lock, order_key, wanted = redis.call, KEYS[1], KEYS[2], ARGV[1]
local function is_wanted(owner)
    local start = string.sub(owner, 1, 7) == 'broken|' and 8 or 1
    return string.sub(owner, start) == wanted or string.sub(owner, start, start + 7) == wanted
end
-- include parts/slot_count.lua
local count = slot_count(lock)
if count then
    local name, found = lock, {}
    -- include parts/slots.lua
    read_slots()
    for i = 1, count do
        if held[i] and is_wanted(held[i]) and (ARGV[2] == '0' or ARGV[2] + 0 == i) then
            if not found[1] then
                found = {string.sub(held[i], 1, 518), 0, i, count}
            else
                found[#found + 1] = string.sub(held[i], 1, 518)
            end
        end
    end
    return found[1] and found or count
end
-- See parts/holds.lua. At most a hundred thousand are looked at: it must not keep the node for long.
for at = 0, 99000, 1000 do
    local members, found = redis.pcall('ZRANGE', lock, at, at + 999), {}
    for _, member in ipairs(members) do
        local owner = string.sub(member, 1, 7) == 'shared|' and string.sub(member, 8) or member
        if is_wanted(owner) and #found < 8 then
            found[#found + 1] = owner
        end
    end
    if found[1] then
        table.insert(found, 2, call('ZCOUNT', lock, '-inf', '+inf'))
        return found
    end
    if #members < 1000 then
        break
    end
end
-- include parts/look.lua

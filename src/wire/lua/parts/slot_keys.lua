-- The keys of the slots of a semaphore. Wants order_key and count (of the slots); base is what all keys of the line begin with.
local base = string.sub(order_key, 1, -6)
local slot_keys = {}
for i = 1, count do
    slot_keys[i] = base .. 'slot:' .. i
end

-- What is kept of a semaphore beside the line of its name. Each slot is an ordinary lock: a text with its owner and an expiry, under a key of its own
-- that begins as the keys of the line do. The name's own key is a hash: "slots" says how many there are, and the number of each slot that is held has
-- "fence ticket id given": the number of the grant, the ticket and the random part of the owner that has it, and when it was handed over (us) unless that owner has been heard
-- of since. It lives for as long as the last of the slots does, or somewhat longer (slots_end.lua), so that other kinds of locks are kept off the name, and other numbers of slots. Wants call, name, order_key and count (of the slots); held has the owner
-- of each slot once it was read. A key of another type stands in for nothing: see slots_kind.lua.
local base = string.sub(order_key, 1, -6)
local function slot_key(slot)
    return base .. 'slot:' .. slot
end
local function all_slots()
    local keys = {}
    for i = 1, count do
        keys[i] = slot_key(i)
    end
    return unpack(keys)
end
local held = {}
local function read_slots()
    held = call('MGET', all_slots())
end
-- include slot_notes.lua

-- Lets the name end with the last of its slots, or not much later: one that was given back may have been wanted for much longer than those that are left, whose
-- holders may be dead. Wants call, name, count and slot_keys; held[from + i] is the owner of slot i, and freed the slot that is free now, if any. Mostly the first
-- one that is looked at has about as long as the name.
local function end_name(held, from, freed)
    local left, longest = call('PTTL', name), 0
    for i = 1, count do
        if i ~= freed and held[from + i] and longest * 2 < left then
            longest = math.max(longest, call('PTTL', slot_keys[i]))
        end
    end
    if longest > 0 and longest * 2 < left then
        call('PEXPIRE', name, math.floor(longest * 1.125))
    end
end

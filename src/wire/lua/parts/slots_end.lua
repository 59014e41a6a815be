-- Lets the name end with the last of its slots, or not much later: one that was given back may have been wanted for much longer than those that are left, whose
-- holders may be dead. Wants call, name, count and slot_keys; held[from + i] is the owner of slot i, and freed the slot that is free now, if any. Mostly the first
-- one that is looked at has about as long as the name. One that ends within this millisecond has 0 left.
local function end_name(held, from, freed)
    local left, longest = call('PTTL', name), nil
    for i = 1, count do
        if i ~= freed and held[from + i] and (not longest or longest * 2 < left) then
            local ms = call('PTTL', slot_keys[i])
            if ms < 0 then
                return
            end
            longest = math.max(longest or 0, ms)
        end
    end
    if longest and longest * 2 < left then
        call('PEXPIRE', name, math.max(1, math.floor(longest * 1.125)))
    end
end

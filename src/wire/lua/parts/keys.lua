-- The keys beside that of a lock, as rl_key_fence() and rl_key_line() of wire/guard_command.h write them. Scripts make them themselves: each key that
-- a command names costs the node, and the client, more than that. Wants lock.
local epoch_key, floor_key, checked_key = 'redlock-guard:epoch', 'redlock-guard:floor', 'redlock-guard:checked'
local fence_key, order_key = 'redlock-fence:{' .. lock .. '}', 'redlock-line:{' .. lock .. '}:order'
if string.find(lock, '{', 1, true) then
    fence_key, order_key = 'redlock-fence:' .. lock, 'redlock-line::' .. lock .. ':order'
end

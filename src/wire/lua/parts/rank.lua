-- The place of a caller in line, from 1. Wants call, base, random, and is_last as take_in.lua leaves it.
local rank = is_last and call('ZCARD', base .. 'waiters') or call('ZRANK', base .. 'waiters', random) + 1

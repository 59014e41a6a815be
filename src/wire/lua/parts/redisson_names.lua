-- Names that Redisson derives from that of a lock. Wants lock and owner; leaves behind tag, and lease: the key that stands for one reader.
local tag = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
local lease = tag .. ':' .. owner .. ':rwlock_timeout:1'

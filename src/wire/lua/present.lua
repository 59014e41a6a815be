-- Says that somebody waits for an ordinary lock, or does so no longer: for people who look, nothing depends on it.
-- KEYS[1] waiting: ids by the node time (ms) until which they count  KEYS[2] the waiter's lease: who he is
-- ARGV[1] id  ARGV[2] lease in ms, 0 he waits no longer  [ARGV[3] since (us)  ARGV[4] how many he stands for  ARGV[5] who]
-- Answers now (us); to one who waits no longer 1, or 0 when he was not known.
local call = redis.call
local time = call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local lease = tonumber(ARGV[2])
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
if lease == 0 then
    call('DEL', KEYS[2])
    return call('ZREM', KEYS[1], ARGV[1])
end
call('ZADD', KEYS[1], string.format('%.0f', now + lease), ARGV[1])
call('SET', KEYS[2], ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5], 'PX', ARGV[2])
if call('PTTL', KEYS[1]) < lease then
    call('PEXPIRE', KEYS[1], ARGV[2])
end
return now_us

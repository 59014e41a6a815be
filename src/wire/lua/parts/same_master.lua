-- Whether this is still the master that the epoch record is about, for a promotion breaks no connection, and what replication has put here meanwhile may be an older copy,
-- with the same record. The record names the history that its memory belongs to; INFO has that of now. It is looked at once in 10 ms: `checked` is when that was last done (us), kept
-- beside the record. Wants now, epoch and checked; leaves is_same.
local is_same, looked_at = true, tonumber(checked or '')
if not (looked_at and looked_at <= now and now - looked_at < 10000) then
    local history = string.match(epoch, '^1 [^ .]*%.(%x+) ')
    local info = history and redis.pcall('INFO', 'replication')
    is_same = not history or type(info) == 'string' and string.find(info, 'master_replid:' .. history, 1, true) ~= nil
    if not is_same then
        -- It may be a copy, too, of a time that this clock has still to reach.
        redis.pcall('DEL', 'redlock-guard:checked')
    elseif history then
        -- Not kept by a node that is full: it looks again then.
        redis.pcall('SET', 'redlock-guard:checked', string.format('%.0f', now), 'PX', '60000')
    end
end

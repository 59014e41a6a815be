-- Decides whether a node may vote, and keeps the record of it. A node that may have forgotten locks sits out until every
-- lock it could have forgotten has ended, and then needs to be told the highest fence it could have forgotten.
-- Record: "1 run id q until": whose memory this is (run_id and history of the master, "a.b"), a random id that changes whenever memory was lost, the longest
-- quarantine any client asks for (ms), and the node time (ms) before which it must not vote; 0: it may.
-- KEYS[1] epoch  KEYS[2] floor
-- ARGV[1] run  ARGV[2] fresh id  ARGV[3] quarantine in ms  ARGV[4] 1: the node keeps its memory over a restart
-- ARGV[5] ms it has certainly been up with nothing but its own memory; below 0: it was a replica  ARGV[6] '', 'look' (change nothing),
-- 'init' (nothing can be held: vote now), 'suspect' (its clock stepped)
-- ARGV[7] '' or a floor to take over (with 'init' it has one)
-- ARGV[8] the record the client knows: a suspicion and a floor count only for the record they were meant for
-- ARGV[9] '' or the master_replid that all this was read with
-- Answers {state, now (us), record, ms to wait, floor}; state 1 fit, 2 in quarantine, 3 lacks a floor; floor '' none;
-- state 0: it is another master by now than the client takes it for, and nothing was done.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local before = redis.call('GET', KEYS[1])
-- A promotion breaks no connection: what the client read when it connected may be out of date.
if ARGV[9] ~= '' and not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[9], 1, true) then
    return {0, now_us, before or '', 0, ''}
end
local floor = redis.call('GET', KEYS[2])
local floor_before = floor
-- The largest number that has a next one; see acquire.lua. A floor beyond it is none of ours, and is to be told anew.
local fence_max = 9007199254740990
local known_floor = tonumber(floor or '')
if not (known_floor and known_floor >= 0 and known_floor < fence_max) then
    floor = false
end
local run, id, q, wait_until = string.match(before or '', '^1 (%S+) (%S+) (%d+) (%d+)$')
local asked = tonumber(ARGV[3])
q, wait_until = tonumber(q), tonumber(wait_until)
-- Longer than any client may ask for: not one of our records.
if q and q > 172800000 then
    run = nil
end

local function forget(from)
    id = ARGV[2]
    floor = false
    wait_until = math.max(wait_until, from + q)
end

if not run then
    -- Fresh, flushed or wiped.
    run, q, wait_until = ARGV[1], asked, 0
    forget(now)
elseif run ~= ARGV[1] then
    -- Restarted, restored or promoted since the record was written; or the same run with a new history, as when its
    -- first replica came. A node that has only ever had its own memory keeps it then.
    local same_run = string.match(run, '^[^.]*') == string.match(ARGV[1], '^[^.]*')
    local up = tonumber(ARGV[5])
    run = ARGV[1]
    if up < 0 then
        forget(now)
    elseif not same_run and ARGV[4] ~= '1' then
        forget(now - math.min(up, q))
    end
end
if q < asked and ARGV[6] ~= 'look' then
    -- A client with longer locks than were known here: they may have been forgotten too.
    q = asked
    wait_until = math.max(wait_until, now + q)
end
if ARGV[6] == 'suspect' and before == ARGV[8] then
    forget(now)
end
local told = before == ARGV[8] and tonumber(ARGV[7])
if told and not (told < fence_max) then
    told = false
end
if ARGV[6] == 'init' then
    wait_until = 0
    told = math.max(math.min(tonumber(ARGV[7]), fence_max - 1), now_us + 5000000)
end
-- A clock that was set back must not make it longer: all that was forgotten before now has ended q from now.
wait_until = math.min(wait_until, now + q)
if wait_until <= now then
    wait_until = 0
end
if wait_until == 0 and told and (not floor or told > tonumber(floor)) then
    floor = string.format('%.0f', told)
end

local record = string.format('1 %s %s %.0f %.0f', run, id, q, wait_until)
if ARGV[6] ~= 'look' then
    if record ~= before then
        redis.call('SET', KEYS[1], record)
    end
    if not floor then
        redis.call('DEL', KEYS[2])
    elseif floor ~= floor_before then
        redis.call('SET', KEYS[2], floor)
    end
end
local state = 1
if wait_until > 0 then
    state = 2
elseif not floor then
    state = 3
end
return {state, now_us, record, math.max(wait_until - now, 0), floor or ''}

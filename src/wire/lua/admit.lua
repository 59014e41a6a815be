-- Decides whether a node may vote, and keeps the record of it. A node that may have forgotten locks is quarantined until
-- every lock it could have forgotten has ended, and then needs to be told the highest fence it could have forgotten.
-- Record: "1 run id q until": whose memory this is (run_id and history of the master, "a.b"), a random id that changes whenever memory was lost, the longest
-- quarantine any client needs (ms), and the node time (ms) at which the present one ends; 0: it votes. It votes while it has a floor.
-- Terms: "q:ends,q:ends": the quarantines that clients need for their longest locks, and the node time (ms) until which that is
-- remembered unless it is announced again. The longest first; each of the others is remembered for longer.
-- KEYS[1] epoch  KEYS[2] floor  KEYS[3] terms
-- ARGV[1] run  ARGV[2] fresh id  ARGV[3] quarantine in ms that the client needs: announced by this  ARGV[4] 1: the node keeps its memory over a restart
-- ARGV[5] ms it has certainly been up with nothing but its own memory; below 0: it was a replica  ARGV[6] '', 'look' (change nothing),
-- 'init' (nothing can be held: vote now), 'suspect' (its clock stepped)
-- ARGV[7] '' or a floor to take over
-- ARGV[8] the record the client knows: a suspicion, a floor and terms count only for the record they were meant for
-- ARGV[9] '' or the master_replid that all this was read with
-- ARGV[10] terms that the others know: "q:ms left,q:ms left"
-- Answers {state, now (us), record, ms to wait, floor, terms as "q:ms left"}; state 1 fit, 2 in quarantine, 3 lacks a floor;
-- floor '' none; state 0: it is another master by now than the client takes it for, and nothing was done.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local before = redis.call('GET', KEYS[1])
-- A promotion breaks no connection: what the client read when it connected may be out of date.
if ARGV[9] ~= '' and not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[9], 1, true) then
    return {0, now_us, before or '', 0, '', ''}
end
local floor = redis.call('GET', KEYS[2])
local floor_before = floor
local terms_before = redis.call('GET', KEYS[3])
-- The largest number that has a next one; see parts/fit.lua. A floor beyond it is none of ours, and is to be told anew.
local fence_max = 9007199254740990
local known_floor = tonumber(floor or '')
if not (known_floor and known_floor >= 0 and known_floor < fence_max) then
    floor = false
end

-- A term is remembered for as long as its locks may last, and two hours: clients announce it at least every half an hour while
-- they use it. In steps of ten minutes, so that not every announcement writes.
local q_max = 172800000
local function life(q)
    return math.ceil((now + q + 7200000) / 600000) * 600000
end
local terms = {}
local function add_term(q, ends)
    if not (q <= q_max) or ends <= now then
        return
    end
    ends = math.min(ends, life(q)) -- or the clock was set back
    local kept = {}
    for _, term in ipairs(terms) do
        if term.q >= q and term.ends >= ends then
            return
        end
        if term.q > q or term.ends > ends then
            kept[#kept + 1] = term
        end
    end
    kept[#kept + 1] = {q = q, ends = ends}
    table.sort(kept, function(a, b)
        return a.q > b.q
    end)
    if #kept > 4 then
        kept[4].ends = kept[5].ends
        kept[5] = nil
    end
    terms = kept
end

local run, id, q, wait_until = string.match(before or '', '^1 (%S+) (%S+) (%d+) (%d+)$')
local asked = tonumber(ARGV[3])
q, wait_until = tonumber(q), tonumber(wait_until)
-- Longer than any client may ask for: not one of our records.
if q and q > q_max then
    run = nil
end
local q_kept = 0
for kept_q, ends in string.gmatch(terms_before or '', '(%d+):(%d+)') do
    q_kept = math.max(q_kept, tonumber(kept_q))
    add_term(tonumber(kept_q), tonumber(ends))
end
-- Written by a client that knows of no terms.
if run and q > q_kept then
    add_term(q, life(q))
end
-- When memory was last lost. What was written without that: the quarantine of then is over.
local lost
if run and not floor then
    lost = wait_until > 0 and wait_until - q or now - q
end

local function forget(from)
    id = ARGV[2]
    floor = false
    lost = math.max(lost or from, from)
end

if not run then
    -- Fresh, flushed or wiped.
    run = ARGV[1]
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
        forget(now - up)
    end
end
if ARGV[6] == 'suspect' and before == ARGV[8] then
    forget(now)
end
-- A longer term than was known costs a node that remembers nothing: its locks cannot be among what was forgotten, for a term is
-- announced before it is used, and was told to a node that forgot.
if ARGV[6] ~= 'look' or #terms == 0 then
    add_term(asked, life(asked))
end
local told = before == ARGV[8] and tonumber(ARGV[7])
if told and not (told < fence_max) then
    told = false
end
if before == ARGV[8] then
    for told_q, left in string.gmatch(ARGV[10], '(%d+):(%d+)') do
        add_term(tonumber(told_q), now + tonumber(left))
    end
end
q = terms[1].q
wait_until = 0
if not floor then
    -- A clock that was set back must not make it longer: all that was forgotten before now has ended q from now.
    wait_until = math.max(math.min(lost, now) + q, 1)
end
if ARGV[6] == 'init' then
    wait_until = 0
    -- At least as high as it would be without the client, and no clock makes it what no number could follow.
    told = math.min(math.max(tonumber(ARGV[7]) or 0, now_us + 5000000), fence_max - 1)
end
if wait_until <= now and told and (not floor or told > tonumber(floor)) then
    floor = string.format('%.0f', told)
end
if floor then
    wait_until = 0
end

local record = string.format('1 %s %s %.0f %.0f', run, id, q, wait_until)
local kept, left = {}, {}
for i, term in ipairs(terms) do
    kept[i] = string.format('%.0f:%.0f', term.q, term.ends)
    left[i] = string.format('%.0f:%.0f', term.q, term.ends - now)
end
kept = table.concat(kept, ',')
if ARGV[6] ~= 'look' then
    if record ~= before then
        redis.call('SET', KEYS[1], record)
    end
    if kept ~= terms_before then
        redis.call('SET', KEYS[3], kept)
    end
    if not floor then
        redis.call('DEL', KEYS[2])
    elseif floor ~= floor_before then
        redis.call('SET', KEYS[2], floor)
    end
end
local state = 1
if wait_until > now then
    state = 2
elseif not floor then
    state = 3
end
return {state, now_us, record, math.max(wait_until - now, 0), floor or '', table.concat(left, ',')}

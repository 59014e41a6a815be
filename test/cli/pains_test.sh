#!/usr/bin/env bash
# The pains of locks in the field: each with its situation, one command, and the answer that it gives.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

value() { sed -n "s/^$1 //p" <<<"$out"; }
# admitted NODES: they vote.
admitted() { REDLOCK_NODES=$1 "$REDLOCK" init --yes -q; }
# holder_of NAME: the id of whoever a quorum of nodes says holds it.
holder_of() { "$REDLOCK" status -q --json "$1" | python3 -c 'import json, sys; print((json.load(sys.stdin)["holder"] or {}).get("id", ""))'; }
is_free() { "$REDLOCK" status -q "$1" | grep -qxF "$1 is free"; }

start_nodes

# ---- the TTL to choose: somebody means a job of two hours, and chooses two hours
exits 'the TTL to choose: a TTL as long as the job is refused' 64 run --ttl 2h nightly -- true
says 'the TTL to choose: it says what a TTL is for' 'how soon a dead holder is noticed, not how long CMD may run'

# ---- jobs longer than it: the lease ends before the job does
start run --status-fd 3 --ttl 5s --renew 500ms long -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done; echo done' "$work/enough"
outlasts_its_ttl() { has_event renewed && [ "$(event renewed time_ms)" -gt "$(($(event acquired time_ms) + 5000))" ]; }
until_true outlasts_its_ttl
ok 'jobs longer than the TTL: nobody else gets in' test "$("$REDLOCK" run -nq long -- echo in 2>/dev/null)" = ''
touch "$work/enough"
finish
is 'jobs longer than the TTL: it is held to the end' "$code/$out" 0/done

# ---- silent loss: the lock is gone, and the job would go on
start run --status-fd 3 --ttl 30s --renew 300ms --grace 500ms silent -- sleep 600
until_true has_event acquired
steal silent
finish
is 'silent loss: CMD is stopped, and the exit code says lost' "$code" 79
ok 'silent loss: so do the words' matches "$err" 'silent.*lost'
vacate silent

# ---- the same cron job on N hosts
users=()
for host in 1 2 3 4; do
    "$REDLOCK" run -n --skip-ok --who "host$host" cron -- sh -c 'echo "$0" >>"$1"; while [ ! -e "$2" ]; do sleep 0.05; done' \
        "$host" "$work/ran" "$work/go" 2>"$work/err$host" &
    users+=("$!")
    started_pids+=("$!")
done
three_are_done() {
    local pid alive=0
    for pid in "${users[@]}"; do
        is_alive "$pid" && alive=$((alive + 1))
    done
    [ "$alive" -eq 1 ]
}
until_true three_are_done
touch "$work/go"
failed=0
for pid in "${users[@]}"; do
    wait "$pid" || failed=$((failed + 1))
done
is 'the same cron job on N hosts: one of them runs it' "$(grep -c . "$work/ran")" 1
is 'the same cron job on N hosts: no other one fails, or says anything' "$failed $(cat "$work"/err? | grep -v warning)" '0 '

# ---- one-second jobs: it is over on one host before the clock of the next one strikes
start run --min-hold 600s --status-fd 3 short -- true
until_true has_event child_exit
exits 'one-second jobs: --min-hold keeps the lock after the job' 0 run -n --skip-ok short -- touch "$work/twice"
ok 'one-second jobs: so it does not run a second time' test ! -e "$work/twice"
kill "$started"
finish

# ---- who has it
start run --status-fd 3 --why 'pg_dump prod' backup -- sleep 600
until_true has_event acquired
on_all_nodes() { "$REDLOCK" status backup | grep -q 'granted by 5 of 5'; }
until_true on_all_nodes
exits 'who has it: status' 0 status backup
ok 'who has it: host, process, purpose' matches "$out" "backup is held by $(hostname | cut -c1-64) \\(pid $started, user [^,]+, \"pg_dump prod\"\\)"
ok 'who has it: since when, for how long, by how many nodes' matches "$out" 'since   .*lease   TTL 15s, (taken|renewed) .* left, granted by 5 of 5'
kill "$started"
finish

# ---- a lock that is stuck: its holder renews it, and will never end
start run --status-fd 3 --ttl 30s --renew 300ms --grace 500ms stuck -- sleep 600
until_true has_event acquired
exits 'a lock that is stuck: it is busy' 75 run -n stuck -- true
force=$(sed -n 's/^  force *redlock //p' "$work/err")
ok 'a lock that is stuck: how to break it is said' matches "$force" '^break stuck --id [0-9a-f]+$'
# shellcheck disable=SC2086 # a command and its arguments
exits 'a lock that is stuck: typed, it is broken' 0 $force --yes
finish_holder() { wait "$started" 2>/dev/null; }
finish_holder
is 'a lock that is stuck: its holder is told that it lost it' "$?" 79
exits 'a lock that is stuck: the next one has it' 0 run -w 30s stuck -- true

# ---- is it an orphan: its holder was killed, and nobody says so
start run --status-fd 3 --ttl 2s --renew 500ms orphan -- sleep 600
until_true has_event acquired
kill -9 "$started"
wait "$started" 2>/dev/null
orphaned() { "$REDLOCK" status -q orphan | grep -qE 'TTL 2s, (taken|renewed) (6|7|8|9)[0-9]{2}ms ago|TTL 2s, (taken|renewed) 1s ago|^orphan is free$'; }
ok 'is it an orphan: status says that it was due for a renewal, and was not renewed' until_true orphaned
exits 'is it an orphan: a waiter has it when its TTL is over' 0 run -w 30s orphan -- true

# ---- released by somebody else
exits 'released by somebody else: a lock' 0 acquire mine --ttl 60s
mine=$(value owner)
exits 'released by somebody else: another owner cannot' 79 release mine --owner-token "not-$mine"
says 'released by somebody else: and is told why' 'mine: not held by this owner: another one has it'
is 'released by somebody else: it is still held' "$(holder_of mine)" "${mine:0:8}"

# ---- what the quorum error means
kill_nodes 1 2
freeze_nodes 3
exits 'what the quorum error means: too few nodes' 69 run -n quorum -- true
says 'what the quorum error means: how many answered, and how many have to' 'no quorum: 2 of 5 nodes answered, 3 are needed'
ok 'what the quorum error means: what is wrong with each' matches "$err" $'node    1 [^\n]*connection refused\n  node    2 [^\n]*connection refused\n  node    3 [^\n]*does not answer'
says 'what the quorum error means: where to look' 'redlock doctor'

# ---- busy or down: a script has to tell them apart
exits 'busy or down: down is 69' 69 run -n mine -- true
thaw_nodes 3
for number in 1 2; do
    start_node "$number"
    until_true is_up "$number"
done
"$REDLOCK" init --yes --force -q # there is a lock, but three nodes know of it
exits 'busy or down: busy is 75' 75 run -n mine -- true

# ---- released after expiry: by then another one has it
exits 'released after expiry: a short lease' 0 acquire late --ttl 3s
late=$(value owner)
until_true is_free late
exits 'released after expiry: somebody else takes it' 0 acquire late --ttl 60s
next=$(value owner)
exits 'released after expiry: the first one is told' 79 release late --owner-token "$late"
is 'released after expiry: the second one keeps it' "$(holder_of late)" "${next:0:8}"

# ---- a frozen node: it takes connections, and does not answer
freeze_nodes 2
exits 'a frozen node: locks go on' 0 run -n frozen -- true
exits 'a frozen node: doctor warns' 1 doctor
ok 'a frozen node: names it, and what to do' matches "$out" $'warning: node 2 [^\n]*it does not answer.*fix     [^\n]*kill -CONT'
thaw_nodes 2

# ---- cluster and sentinel: taken for nodes
port=$(free_port)
redis-server --port "$port" --bind 127.0.0.1 --cluster-enabled yes --cluster-config-file "$work/nodes.conf" --save '' --dir "$work" \
    --logfile "$work/n6.log" </dev/null >/dev/null 2>&1 &
node_pids[6]=$!
until_true redis-cli -p "$port" PING >/dev/null
exits 'cluster and sentinel: a cluster is refused' 69 run -n a --nodes "redis://127.0.0.1:$port" -- true
says 'cluster and sentinel: with what to name instead' 'name masters that stand alone'
kill_nodes 6
: >"$work/sentinel.conf"
redis-server "$work/sentinel.conf" --sentinel --port "$port" --bind 127.0.0.1 --dir "$work" --logfile "$work/n6.log" </dev/null >/dev/null 2>&1 &
node_pids[6]=$!
until_true redis-cli -p "$port" PING >/dev/null
exits 'cluster and sentinel: so is a sentinel' 69 run -n a --nodes "redis://127.0.0.1:$port" -- true
says 'cluster and sentinel: with what to name instead' 'name the masters that it watches'
kill_nodes 6

# ---- managed servers: no CONFIG, no ACL, no CLIENT, and often no INFO but a little
for number in 1 2 3 4 5; do
    node "$number" ACL SETUSER managed on nopass '~*' +@all -config -acl -client -debug -save -shutdown -replicaof >/dev/null
done
managed=${REDLOCK_NODES//unix:\/\//unix:\/\/managed:x@}
REDLOCK_NODES=$managed exits 'managed servers: locks work' 0 run -nq managed -- true
REDLOCK_NODES=$managed exits 'managed servers: doctor has nothing to warn of' 0 doctor
ok 'managed servers: but says what would be better' has "$out" "ACL SETUSER managed '+client|tracking'"

# ---- from one node to five: the one knows of a lock that the new ones do not
rm -rf "$work/grown"
mkdir "$work/grown"
for number in 1 2 3 4 5; do
    redis-server --port 0 --unixsocket "$work/grown/$number.sock" --save '' --dir "$work/grown" --logfile "$work/grown/$number.log" \
        </dev/null >/dev/null 2>&1 &
    node_pids[10 + number]=$!
done
for number in 1 2 3 4 5; do
    until_true test -S "$work/grown/$number.sock"
done
one=unix://$work/grown/1.sock
five=$(printf 'unix://%s ' "$work"/grown/{1,2,3,4,5}.sock)
admitted "$one"
REDLOCK_NODES=$one "$REDLOCK" acquire -q growing --ttl 60s >/dev/null
REDLOCK_NODES=$five exits 'from one node to five: nobody gets the lock a second time' 69 run -n growing -- true
says 'from one node to five: the new ones have to wait until it has ended' 'quarantined for another'
ok 'from one node to five: nobody is sent to init' lacks "$err" 'redlock init'
for number in 11 12 13 14 15; do
    kill_nodes "$number"
done

# ---- other languages: a program that has no library
port=$(free_port)
"$REDLOCK" serve -q --listen "127.0.0.1:$port" >"$work/serve.log" 2>&1 </dev/null &
served=$!
started_pids+=("$served")
url=http://127.0.0.1:$port/v1/locks
# asks URL [BODY]: what the service answers, in $work/lease.
asks() {
    python3 -c 'import sys, urllib.request as http
body = sys.argv[2].encode() if len(sys.argv) > 2 else None
print(http.urlopen(http.Request(sys.argv[1], body, {"Content-Type": "application/json"})).read().decode())' "$@" >"$work/lease" 2>/dev/null
}
until_true asks "http://127.0.0.1:$port/readyz"
asks "$url/polyglot" '{"ttl_ms": 30000}'
ok 'other languages: a lock over HTTP' grep -q '"fence"' "$work/lease"
exits 'other languages: it excludes everybody else' 75 run -n polyglot -- true
kill "$served"
wait "$served" 2>/dev/null

# ---- the fencing token
first=$("$REDLOCK" run -q fenced -- sh -c 'echo "$REDLOCK_FENCE"')
second=$("$REDLOCK" run -q fenced -- sh -c 'echo "$REDLOCK_FENCE"')
ok 'the fencing token: every holder has a higher one' test "$second" -gt "$first"
exits 'the fencing token: status knows the highest' 0 acquire fenced --ttl 30s
third=$(value fence)
exits 'the fencing token: as a store has to' 0 status fenced
ok 'the fencing token: it is shown' has "$out" "  fence   $third"

# ---- order: many wait, and nobody is to be passed over
start run --status-fd 3 --kind fair queue -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done' "$work/queue-go"
until_true has_event acquired
holder=$started
stands() { [ "$(node 1 ZCARD 'redlock-line:{queue}:waiters')" = "$1" ]; }
for turn in 1 2 3; do
    "$REDLOCK" run -q --kind fair queue -- sh -c 'echo "$0" >>"$1"' "$turn" "$work/turns" </dev/null 2>/dev/null &
    started_pids+=("$!")
    last=$!
    until_true stands "$turn"
done
touch "$work/queue-go"
wait "$last" "$holder"
all_had_their_turn() { [ "$(grep -c . "$work/turns")" -eq 3 ]; }
until_true all_had_their_turn
is 'order: the first to ask comes first' "$(paste -sd' ' "$work/turns")" '1 2 3'

# ---- waiting for oneself and for several names
exits 'waiting for oneself: a lock inside itself' 64 run self -- "$REDLOCK" run self -- true
says 'waiting for oneself: is refused at once' 'it would wait for itself'
exits 'several names: one after the other' 0 run one -- "$REDLOCK" run two -- sh -c 'echo "$REDLOCK_HELD"'
is 'several names: all of them are held' "$out" 'one two'
exits 'several names: together' 0 run one --also two -- sh -c 'echo "$REDLOCK_HELD"'
is 'several names: all of them are held at once' "$out" 'one two'

# ---- extension
exits 'extension: a lease' 0 acquire extended --ttl 20s
owner=$(value owner)
exits 'extension: lengthens it' 0 extend extended --owner-token "$owner" --ttl 50s
ok 'extension: says what holds' test "$(value ttl_ms)" -eq 50000
exits 'extension: never shortens it' 0 extend extended --owner-token "$owner" --ttl 1s
ok 'extension: and says what holds' test "$(value ttl_ms)" -gt 20000

# ---- leaked renewal: whoever renews outlives the job
start run --status-fd 3 --ttl 4s --renew 400ms leaked -- sh -c 'echo $$ >"$0"; exec sleep 600' "$work/job"
until_true has_content "$work/job"
kill -9 "$started"
wait "$started" 2>/dev/null
until_true is_dead "$(<"$work/job")"
ok 'leaked renewal: nobody renews for a job that is gone' until_true is_free leaked

# ---- pauses: the holder sleeps longer than its lease, and wakes up believing
start run --status-fd 3 --ttl 4s --renew 400ms --grace 100ms paused -- sh -c 'echo $$ >"$0"; exec sleep 600' "$work/paused"
until_true has_content "$work/paused"
kill -STOP "$started"
ok 'pauses: the job has ended before anybody else has the lock' until_true is_dead "$(<"$work/paused")"
exits 'pauses: then another one has it' 0 run -w 30s paused -- true
kill -CONT "$started"
finish
is 'pauses: and the first one says that it lost it' "$code" 79

# ---- a key that is no lock
for number in 1 2 3 4 5; do
    node "$number" LPUSH jobs important >/dev/null
done
exits 'a key that is no lock: is not taken' 75 run -n jobs -- true
says 'a key that is no lock: and called that' 'not a lock'
is 'a key that is no lock: nothing happened to it' "$(node 1 LRANGE jobs 0 -1)" important

# ---- signals
start run --status-fd 3 signals -- sh -c 'trap "echo told; exit 5" TERM; echo ready >"$0"; while :; do sleep 0.05; done' "$work/ready"
until_true has_content "$work/ready"
kill -TERM "$started"
finish
is 'signals: CMD is told, and its exit code is passed on' "$code/$out" 5/told
ok 'signals: the lock is free' is_free signals
# ---- all of them
pains=$(grep -c '^# ---- ' "$0")
is 'each of the 25 has its place here' "$((pains - 1))" 25
done_testing

#!/usr/bin/env bash
# redlock doctor on fleets in which each fault is produced for real: it is found and named, and what it says mends it. The
# remedies are typed as they are printed, wherever they are commands.
# shellcheck disable=SC2016,SC2317 # single quotes are for other programs; checks are called by name
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/doctor.sh"
shopt -s extglob
# waits_alike: the quarantine that the last doctor found lasts as long in its words as in its remedy.
waits_alike() {
    python3 - "$work/found.json" <<'END'
import json, re, sys
for one in json.load(open(sys.argv[1]))["findings"]:
    if one["id"] == "quarantine":
        said = int(re.search(r"quarantined for another (\d+) s", one["what"])[1])
        minutes, seconds = re.match(r"wait (?:(\d+)m)?(\d+)s\b", one["fix"]).groups()
        sys.exit(0 if said == 60 * int(minutes or 0) + int(seconds) > 0 else one)
sys.exit("no quarantine was found")
END
}

# ---- nothing is wrong
start_new_nodes
examine
is 'a new fleet can lock nothing' "$code" 69
finds 'and is quarantined' quarantine 1
ok 'until it is admitted' has "$fix" 'redlock init'
finds 'which leaves no margin' margin
# The same fleet, for clients whose locks are short: a quarantine is then, too.
printf '%s\n' "nodes = $REDLOCK_NODES" 'max_ttl = 500ms' >"$work/short.conf"
fleet=$REDLOCK_NODES
unset REDLOCK_NODES
examine_with --config "$work/short.conf"
finds 'waiting alone does not end it' quarantine 1
ok 'as it has not begun' has "$out" 'from when a lock is next asked for'
fix=${fix##*: }
ok 'so the command that begins it is said, for these nodes' matches "$fix" "^redlock run doctor -w [0-9]+s --config $work/short.conf -- sleep 2$"
ok 'typed, it waits for the end of it' type_it
examine_with --config "$work/short.conf"
is 'then all nodes may vote' "$code" 0
export REDLOCK_NODES=$fleet
fresh_nodes
examine
is 'a fleet that is well' "$code" 0
ok 'in short' has "$out" '"summary":"5 nodes, 3 needed, 5 eligible: two more may fail"'
ok 'with all that is known of each' matches "$out" '"role":"master".*"latency_p50_us":[0-9]+.*"clock_offset_us":-?[0-9]+.*"memory_policy":"noeviction"'
exits 'for people' 0 doctor
ok 'first the summary' matches "$out" '^5 nodes, 3 needed, 5 eligible: two more may fail'
ok 'then each node' matches "$out" '  node 5 .*eligible  (redis|valkey) [0-9.]+ master  p50 [0-9.]+ms p99 [0-9.]+ms  clock [+-]'
ok 'what is to be known of all of them is said once' has "$out" 'note: nodes 1, 2, 3, 4 and 5: it keeps nothing over a restart'
ok 'at last the count' matches "$out" '0 errors, 0 warnings, [0-9]+ notes$'
is 'nothing is left at the nodes' "$(for number in 1 2 3 4 5; do node "$number" KEYS '*doctor*'; done)" ''
unset_nodes() { env -u REDLOCK_NODES "$REDLOCK" doctor >/dev/null 2>&1; }
unset_nodes
ok 'looking starts no nodes where none are configured' test ! -e "$REDLOCK_LOCAL_DIR"

# ---- memory and persistence
# start_keeping_node: node 1, which has a folder of its own, as its redis.conf says after the remedy (with options), or before.
start_keeping_node() {
    mkdir -p "$work/one"
    redis-server --port 0 --unixsocket "$work/n1.sock" --save '' --dir "$work/one" --logfile "$work/n1.log" "$@" </dev/null >/dev/null 2>&1 &
    node_pids[1]=$!
    until_true is_up 1
}
kill_nodes 1
start_keeping_node
admit
examine
finds 'a node that keeps nothing' persistence 1
type_it
examine
finds 'loses nothing once that was typed, but that is not known' persistence 1
ok 'until its URL says so' has "$fix" "write unix://$work/n1.sock?durable=yes"
export REDLOCK_NODES_BEFORE=$REDLOCK_NODES
rewrite
mended 'as it is said' persistence 1
ok 'the others still do not' test -n "$(found persistence 2)"
exits 'it takes part in a lock' 0 run -q a -- true
kill_nodes 1
start_keeping_node --appendonly yes --appendfsync always
examine
ok 'and is not quarantined after a restart' lacks_finding quarantine 1
is 'all of them may vote' "$code" 0
REDLOCK_NODES=$REDLOCK_NODES_BEFORE
REDLOCK_NODES=${REDLOCK_NODES/n2.sock/n2.sock?durable=yes}
examine
is 'one that is declared durable, and is not' "$code" 1
finds 'is found' persistence 2
type_it
mended 'until every command is written' persistence 2
fresh_nodes
REDLOCK_NODES=$REDLOCK_NODES_BEFORE
node 3 CONFIG SET maxmemory 100mb >/dev/null
node 3 CONFIG SET maxmemory-policy allkeys-lru >/dev/null
examine
is 'a node that evicts' "$code" 1
finds 'is found' eviction 3
type_it
mended 'and mended' eviction 3
node 3 CONFIG SET maxmemory "$(($(node 3 INFO memory | tr -d '\r' | sed -n 's/^used_memory://p') * 11 / 10))" >/dev/null
examine
finds 'memory that is nearly full' memory 3
type_it
mended 'can be given more' memory 3

# ---- roles
node 1 REPLICAOF 127.0.0.1 1 >/dev/null
examine
finds 'a replica' replica 1
fix=${fix##*: }
type_it
examine
ok 'can become a master of its own' lacks_finding replica 1
fresh_nodes
port=$(free_port)
redis-server --port "$port" --bind 127.0.0.1 --cluster-enabled yes --cluster-config-file "$work/nodes.conf" --save '' --dir "$work" \
    --logfile "$work/n6.log" </dev/null >/dev/null 2>&1 &
node_pids[6]=$!
until_true redis-cli -p "$port" PING >/dev/null
REDLOCK_NODES="$REDLOCK_NODES redis://127.0.0.1:$port" examine
finds 'a node of a cluster' cluster 6
ok 'is told what to name instead' has "$fix" 'cluster-enabled no'
finds 'an even number of nodes' node-count
kill_nodes 6
: >"$work/sentinel.conf"
redis-server "$work/sentinel.conf" --sentinel --port "$port" --bind 127.0.0.1 --dir "$work" --logfile "$work/n6.log" </dev/null >/dev/null 2>&1 &
node_pids[6]=$!
until_true redis-cli -p "$port" PING >/dev/null
REDLOCK_NODES="$REDLOCK_NODES redis://127.0.0.1:$port" examine
finds 'a sentinel' sentinel 6
fix=${fix#*: } fix=${fix% lists*}
ok 'is asked which masters it watches' type_it
kill_nodes 6

# ---- reaching them
freeze_nodes 2
examine
is 'a node that is frozen' "$code" 1
finds 'is found' frozen 2
ok 'with what to do' has "$fix" 'kill -CONT'
thaw_nodes 2
mended 'and mended by it' frozen 2
kill_nodes 2
examine
finds 'a node that is gone' unreachable 2
kill_nodes 4
examine
is 'two that are gone' "$code" 1
finds 'leave no margin' margin
kill_nodes 5
examine
is 'without a quorum no lock can be had' "$code" 69
fresh_nodes
REDLOCK_NODES="$REDLOCK_NODES unix://$work/./n1.sock unix://$work/../$(basename "$work")/n2.sock" examine
is 'a server under two URLs can lock nothing' "$code" 69
finds 'and is found' duplicate
ok 'with what to do' has "$fix" 'remove one of the two URLs'
mended 'which mends it' duplicate
REDLOCK_NODES=unix://$work/n1.sock examine
finds 'a single node' node-count
is 'is a warning' "$code" 1
kill -9 "${node_pids[1]}"
wait "${node_pids[1]}" 2>/dev/null
start_node 1
until_true is_up 1
examine
finds 'a node that was restarted' quarantine 1
ok 'has to be told so' has "$out" 'from when a lock is next asked for'
ok 'with the command that begins it' matches "$fix" '^redlock run doctor -w [0-9]+s -- sleep 2 # any lock'
fix=${fix/-w +([0-9])s/-w 1s}
type_it
examine
finds 'once a lock was asked for' quarantine 1
ok 'it has to wait' matches "$fix" '^wait [0-9ms]+$'
ok 'as long as is said' waits_alike
# One of five that was restarted, and answers only when the others have granted the lock that begins its quarantine.
fresh_nodes
kill_nodes 5
rm -f "$work/n5.sock"
start_node 5
until_true is_up 5
examine
finds 'one of five that was restarted' quarantine 5
freeze_nodes 5
PATH=$(dirname "$REDLOCK"):$PATH bash -c "$fix" >"$work/typed" 2>&1 </dev/null &
started=$!
lock_is_there() { [ "$(node 1 EXISTS doctor)" = 1 ]; }
until_true lock_is_there
thaw_nodes 5
wait "$started"
examine
finds 'is reached by the command that is said, though it is slow' quarantine 5
ok 'and its quarantine has begun' matches "$fix" '^wait [0-9ms]+$'

# ---- the guard's own keys
node 5 DEL redlock-guard:floor >/dev/null
node 5 LPUSH redlock-guard:floor x >/dev/null
examine
finds 'something else in a key of the guard' side-keys 5
type_it
mended 'can be removed' side-keys 5

# ---- clocks
fresh_nodes
skewed=$work/skewed
mkdir "$skewed"
printf '%s\n' 'port 0' "unixsocket $work/n1.sock" 'save ""' "dir $skewed" "logfile $work/n1.log" >"$skewed/redis.conf"
kill_nodes 1
LD_PRELOAD=$BUILD/test/clock_shim.so redis-server "$skewed/redis.conf" </dev/null >/dev/null 2>&1 &
node_pids[1]=$!
until_true is_up 1
admit
set_clock "$skewed" 200000000 0
examine
is 'a clock that is off' "$code" 1
finds 'is found' clock 1
ok 'with what to do' has "$fix" 'timedatectl set-ntp true'
set_clock "$skewed" 0 0
examine
ok 'and fine once it is set' lacks_finding clock 1
set_clock "$skewed" 0 100000
examine
finds 'a clock that runs too fast' clock-rate 1
set_clock "$skewed" 0 0

# ---- terms
fresh_nodes
printf '%s\n' "nodes = $REDLOCK_NODES" 'max_ttl = 5m' >"$work/long.conf"
"$REDLOCK" run -q a -- true
examine
ok 'one max_ttl is in order' lacks_finding max-ttl
env -u REDLOCK_NODES "$REDLOCK" run -q --config "$work/long.conf" a -- true
examine
is 'clients that differ' "$code" 1
finds 'are found' max-ttl
printf '%s\n' "nodes = $REDLOCK_NODES" "${fix%,*}" >"$work/same.conf"
env -u REDLOCK_NODES "$REDLOCK" doctor --json --config "$work/same.conf" >"$work/found.json"
ok 'the line that is given fixes it' lacks_finding max-ttl

# ---- local nodes
unset REDLOCK_NODES
try doctor
is 'without nodes there is nothing to examine' "$code" 69
"$REDLOCK" local start -q
examine
is 'local nodes are a warning' "$code" 1
finds 'for their locks reach no other machine' local-nodes
ok 'with the line that refuses them' has "$fix" 'require_nodes = yes'
done_testing

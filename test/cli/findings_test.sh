#!/usr/bin/env bash
# redlock doctor on nodes that cannot write, do not answer, are of another age, or whose clocks and networks are bad: each
# produced for real, found and named, and mended by what it says. doctor_test.sh has the findings of everyday.
# shellcheck disable=SC2016,SC2317 # single quotes are for other programs; checks are called by name
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/doctor.sh"

# file_limit PID BYTES: how large the files of a running process may become; -1 as large as they want.
file_limit() {
    python3 -c 'import resource, sys
resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))' "$1" "$2"
}
# info NUMBER FIELD: what a node says of itself.
info() { node "$1" INFO | tr -d '\r' | sed -n "s/^$2://p"; }
info_is() { [ "$(info "$1" "$2")" = "$3" ]; }
# start_silent_node NUMBER [OPTION...]: one that writes no log.
start_silent_node() {
    local number=$1
    redis-server --port 0 --unixsocket "$work/n$number.sock" --save '' --dir "$work" --dbfilename "n$number.rdb" "${@:2}" \
        </dev/null >/dev/null 2>&1 &
    node_pids[number]=$!
}
# start_in_background COMMAND...: $started is its pid.
start_in_background() {
    "$@" </dev/null >/dev/null 2>&1 &
    started=$!
    started_pids+=("$started")
}
stop_started() {
    kill "$started"
    wait "$started" 2>/dev/null
}

# ---- nodes that answer, but cannot write: no file of it may grow (as on a full disk), no memory, no replicas
start_nodes
kill_nodes 1
start_silent_node 1
until_true is_up 1
admit
file_limit "${node_pids[1]}" 0
node 1 CONFIG SET save '3600 1' >/dev/null
node 1 BGSAVE >/dev/null
until_true info_is 1 rdb_last_bgsave_status err
examine
is 'a node that cannot save' "$code" 1
finds 'is found' disk 1
ok 'in its own words' has "$out" MISCONF
ok 'and has no vote' has "$out" '4 eligible'
exits 'which status knows, too' 0 status --check
is 'in short' "$out" '5 nodes, 3 needed, 4 eligible: one more may fail'
node 2 CONFIG SET maxmemory 100kb >/dev/null
node 3 CONFIG SET min-replicas-to-write 1 >/dev/null
examine
is 'without a quorum that can write no lock can be had' "$code" 69
exits 'nor does status say that' 69 status --check
finds 'room on the disk is not all' disk 1
file_limit "${node_pids[1]}" -1
fix=${fix##*: }
type_it
until_true info_is 1 rdb_last_bgsave_status ok
finds 'a node without memory is found' memory-full 2
ok 'once' lacks_finding memory 2
type_it
finds 'one that wants replicas is found' copies 3
type_it
mended 'with room, and saved by what is said, it is well' disk 1
ok 'so is the one that has memory' lacks_finding memory-full 2
ok 'and the one that wants no replicas' lacks_finding copies 3
is 'all is well' "$code" 0
node 1 CONFIG SET save '' >/dev/null

# ---- nodes that answer nothing for a while, and what is no node
node 2 CONFIG SET lua-time-limit 1 >/dev/null
start_in_background redis-cli -s "$work/n2.sock" EVAL 'while true do end' 0
script=$started
is_blocked() { node 2 GET x | grep -q BUSY; }
until_true is_blocked
kill_nodes 3
rm -f "$work/n3.sock"
start_silent_node 3
until_true is_up 3
node 3 CONFIG SET rdbcompression no >/dev/null
node 3 EVAL 'for i = 1, 2000 do redis.call("SET", "key:" .. i, string.rep("x", 1000)) end' 0 >/dev/null
node 3 SAVE >/dev/null
kill_nodes 3
rm -f "$work/n3.sock"
slow_loading=(--key-load-delay 10000 --loading-process-events-interval-bytes 1024)
is_loading() { node 3 GET x | grep -q LOADING; }
if [ -n "$(node 1 CONFIG GET loading-process-events-interval-bytes)" ]; then
    start_silent_node 3 "${slow_loading[@]}"
    until_true is_loading
else
    slow_loading=()
    start_silent_node 3
    until_true is_up 3
fi
port=$(free_port)
start_in_background python3 -m http.server --bind 127.0.0.1 "$port"
until_true python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))"
before=$REDLOCK_NODES
REDLOCK_NODES="$before redis://nowhere.invalid:$port redis://127.0.0.1:$port"
examine
is 'nodes that do not answer' "$code" 69
finds 'a name that cannot be looked up is found' name 6
ok 'and told whom to ask' has "$fix" 'getent hosts'
finds 'so is something that is no node' protocol 7
if [ ${#slow_loading[@]} -gt 0 ]; then
    finds 'and a node that loads' loading 3
    is 'which is waited for' "$fix" wait
    node 3 CONFIG SET key-load-delay 0 >/dev/null
else
    ok 'a node that loads # SKIP this server does not answer while it loads a little' true
fi
finds 'and one that runs a script of somebody' blocked 2
type_it
until_true is_up 3
wait "$script" 2>/dev/null
stop_started
REDLOCK_NODES=$before
mended 'without the script it is free' blocked 2
ok 'the other has loaded' lacks_finding loading 3
ok 'and with URLs corrected there are nodes' lacks_finding name
ok 'and nothing else' lacks_finding protocol
admit

# ---- servers of another age
version=$(info 5 redis_version)
digits=$(info 5 valkey_version)
digits=${digits:-$version}
# disguised AS: node 5 behind a socket of its own, as of that version.
disguise_as() {
    start_in_background python3 "$(dirname "$0")/disguise.py" "$work/other.sock" "$work/n5.sock" "_version:$digits" "_version:$1"
    until_true redis-cli -s "$work/other.sock" PING >/dev/null
    REDLOCK_NODES=${before/n5.sock/other.sock}
}
reveal() {
    stop_started
    rm -f "$work/other.sock"
    REDLOCK_NODES=$before
}
last=${digits: -1}
disguise_as "${digits%?}$(((last + 1) % 10))"
examine
is 'nodes of different versions' "$code" 0
finds 'are noted' mixed-versions
ok 'each' has "$out" "$digits, "
reveal
mended 'and alike again after the upgrade' mixed-versions
disguise_as "5${digits#?}"
examine
is 'a server that is too old' "$code" 1
finds 'is found' version 5
ok 'with what is old enough' has "$fix" 'Redis 6.0'
ok 'and why' has "$out" "its version is 5${digits#?}"
reveal
mended 'and well after the upgrade' version 5
kill_nodes 5
rm -f "$work/n5.sock"
start_silent_node 5 --rename-command HELLO ''
until_true is_up 5
admit
examine
is 'a node that cannot push' "$code" 0
finds 'is noted' notifications 5
ok 'with what keeps it from that' has "$fix" 'rename-command HELLO'
kill_nodes 5
rm -f "$work/n5.sock"
restart_nodes 5
mended 'without which it pushes' notifications 5

# ---- the network
mkfifo "$work/orders"
"$BUILD/test/chaos-relay" 127.0.0.1 0 "$work/n5.sock" <"$work/orders" >"$work/port" 2>/dev/null &
started=$!
started_pids+=("$started")
exec 4>"$work/orders"
echo 'answer-delay 15' >&4
until_true has_content "$work/port"
REDLOCK_NODES=${before/unix:\/\/$work\/n5.sock/redis:\/\/127.0.0.1:$(<"$work/port")}
examine
is 'a node that is far away' "$code" 0
finds 'is noted' latency 5
fix=${fix#*\(} fix=${fix%%\)*}
ok 'and can be measured as it is said' type_it
exec 4>&-
wait "$started" 2>/dev/null
REDLOCK_NODES=$before
examine
half_is_fast() {
    python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["nodes"][4]["latency_p50_us"] > 10000)' "$work/found.json"
}
ok 'nearer, half of its answers are fast' half_is_fast

# ---- a node that forgot its fences, while too few others can say how high they were
printf '%s\n' "nodes = $before" 'max_ttl = 500ms' >"$work/short.conf"
unset REDLOCK_NODES
export XDG_CONFIG_HOME=$work/short
mkdir -p "$XDG_CONFIG_HOME/redlock"
mv "$work/short.conf" "$XDG_CONFIG_HOME/redlock/redlock.conf"
fresh_nodes
unset REDLOCK_NODES
freeze_nodes 4 5
kill_nodes 3
rm -f "$work/n3.sock"
start_node 3
until_true is_up 3
try run -n a -- true
has_finding() { examine; found "$@" >/dev/null; }
ok 'a node that has lost its fences is found' until_true has_finding fences 3
is 'as no lock can be had' "$code" 69
finds 'the others are to come back' fences 3
thaw_nodes 4 5
mended 'and when they do' fences 3
exits 'it votes, too' 0 run -n a -- true
REDLOCK_NODES=$before
export REDLOCK_NODES XDG_CONFIG_HOME=$work/config
fresh_nodes

# ---- clocks
shim() { LD_PRELOAD=$BUILD/test/clock_shim.so CLOCK_SHIM=$work/clock ASAN_OPTIONS=verify_asan_link_order=0 "$@"; }
shim "$REDLOCK" version >/dev/null
set_clock "$work" 20000000 0
shim "$REDLOCK" doctor --json >"$work/found.json" 2>"$work/err"
is 'a host whose clock is off' "$?" 1
finds 'is told so' clock
ok 'and not its nodes' lacks_finding clock 1
ok 'with what to do' has "$fix" 'timedatectl set-ntp true'
set_clock "$work" 0 0
shim "$REDLOCK" doctor --json >"$work/found.json" 2>"$work/err"
is 'and well once it is set' "$?" 0
skewed=$work/skewed
mkdir "$skewed"
printf '%s\n' 'port 0' "unixsocket $work/n1.sock" 'save ""' "dir $skewed" >"$skewed/redis.conf"
kill_nodes 1
rm -f "$work/n1.sock"
LD_PRELOAD=$BUILD/test/clock_shim.so redis-server "$skewed/redis.conf" </dev/null >/dev/null 2>&1 &
node_pids[1]=$!
until_true is_up 1
set_clock "$skewed" 7200000000 0
admit
# A lock is won with the quickest three of five: its fence is ahead only when that node was one of them.
is_ahead() {
    fence=$("$REDLOCK" run -q a -- sh -c 'echo $REDLOCK_FENCE')
    [ "${fence:-0}" -gt $((($(date +%s) + 3600) * 1000000)) ]
}
ok 'a lock is numbered by a clock that is wrong' until_true is_ahead
set_clock "$skewed" 0 0
kill_nodes 1
rm -f "$work/n1.sock"
start_node 1
until_true is_up 1
admit
examine
finds 'fences that a wrong clock put ahead' fences
ok 'are noted, and nothing is to be done' matches "$fix" '^nothing'
# Bit 6 of what the kernel says of its clock: nobody keeps it in step.
is_unsynchronised() {
    python3 -c 'import ctypes, struct, sys
timex = ctypes.create_string_buffer(512)
state = ctypes.CDLL(None).adjtimex(timex)
sys.exit(not (state >= 0 and struct.unpack_from("i", timex, 40)[0] & 64))'
}
if is_unsynchronised; then
    finds 'a clock that nobody keeps in step is noted' ntp
else
    ok 'a clock that is kept in step is not noted' lacks_finding ntp
fi
finds 'so are local nodes that would be used without a configuration' local-fallback
printf '%s\n' "nodes = $REDLOCK_NODES" "${fix%%,*}" >"$work/required.conf"
env -u REDLOCK_NODES "$REDLOCK" doctor --json --config "$work/required.conf" >"$work/found.json"
ok 'and refused by the line that is given' lacks_finding local-fallback
exits 'locks can be had' 0 run a -n -- sh -c 'echo $REDLOCK_FENCE'
ok 'and fences go on rising' test "$out" -gt "$fence"
done_testing

# Shared by the tests of the command: five real nodes on unix sockets in a private folder, checks that speak TAP, and a
# clean-up that ends what was started, by pid. It asserts nothing by itself.
# shellcheck shell=bash
set -u

: "${REDLOCK:?is the path of the built command}"
export REDLOCK
unset REDLOCK_NODES REDLOCK_PASSWORD REDLOCK_HELD REDLOCK_HELD_ON REDLOCK_OWNER REDLOCK_NAME REDLOCK_FENCE \
    REDLOCK_TTL_MS REDLOCK_SERVER XDG_RUNTIME_DIR NO_COLOR
work=$(mktemp -d "${TMPDIR:-/tmp}/cli.XXXXXX")
export HOME=$work/home XDG_CONFIG_HOME=$work/config REDLOCK_LOCAL_DIR=$work/local SHELL=/bin/sh
mkdir "$HOME"
# A node that is slow for want of a processor is not a silent one; see freeze_nodes.
be_patient() {
    mkdir -p "$work/config/redlock"
    printf '%s\n' 'connect_timeout = 10s' 'node_timeout = 10s' >"$work/config/redlock/redlock.conf"
}
be_impatient() { rm -f "$work/config/redlock/redlock.conf"; }
be_patient
declare -a node_pids=()
declare -a started_pids=()
tests=0
failures=0

# ---- checks ---------------------------------------------------------------------------------------------------

# ok NAME COMMAND...: passes when the command succeeds.
ok() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $name"
        explain "failed: $*"
        return 1
    fi
}

explain() {
    printf '%s\n' "$@" "exit code: ${code-}" "stdout: ${out-}" "stderr: ${err-}" | sed 's/^/# /'
    [ ! -s "$work/events" ] || sed 's/^/# /' "$work/events"
}

equals() { [ "$1" = "$2" ]; }
has() { [[ $1 == *"$2"* ]]; }
lacks() { [[ $1 != *"$2"* ]]; }
matches() { [[ $1 =~ $2 ]]; }
below() { [ "$1" -le "$2" ]; }

# is NAME ACTUAL EXPECTED
is() {
    ok "$1" equals "$2" "$3"
}

# each_line NAME COMMAND...: passes when the command succeeds for every line of stdin, and there is one.
each_line() {
    local name=$1 line wrong='' count=0
    shift
    while IFS= read -r line; do
        count=$((count + 1))
        "$@" "$line" || wrong+="$line; "
    done
    ok "$name" equals "$((count > 0)) $wrong" '1 '
}

# try ARGUMENT...: runs redlock; $code, $out and $err are what it came to.
try() {
    "$REDLOCK" "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
}

# exits NAME CODE ARGUMENT...: runs redlock and checks its exit code.
exits() {
    local name=$1 expected=$2
    shift 2
    try "$@"
    is "$name" "$code" "$expected"
}

# says NAME TEXT: the last redlock's stderr has the text.
says() {
    ok "$1" has "$err" "$2"
}

# for_this_server: a rule of the documents, as this server knows it. Redis 6.0 has no rights for channels.
for_this_server() {
    case $(redis-server --version) in
    *v=6.0.*) sed -E 's/ (resetchannels|&[^ ]+)//g' ;;
    *) cat ;;
    esac
}

# until_true COMMAND...: waits for it to succeed, at most half a minute.
until_true() {
    local deadline=$((SECONDS + 30))
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

# Whether the library needs a sanitizer's run-time library, which programs and interpreters of the system do not bring along.
is_sanitized() { nm -D "$BUILD/src/libredlock.so" | grep -q ' U __[at]san_init'; }

# json EXPRESSION: what it comes to, in Python, for each line of JSON, which is called `this`; texts as they are, others as JSON.
json() {
    python3 -S -c 'import json, sys
for line in sys.stdin:
    this = json.loads(line)
    made = eval(sys.argv[1])
    print(made if isinstance(made, str) else json.dumps(made, separators=(",", ":")))' "$1"
}

done_testing() {
    echo "1..$tests"
    exit "$((failures > 0))"
}

# ---- nodes ----------------------------------------------------------------------------------------------------

# free_port: one of 127.0.0.1 that nobody listens on, nor on the one 10000 above it, which a node of a cluster wants too.
free_port() {
    python3 - <<'END'
import random, socket
while True:
    port = random.randrange(20000, 50000)
    try:
        for one in (port, port + 10000):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", one))
    except OSError:
        continue
    print(port)
    break
END
}

start_node() {
    local number=$1
    redis-server --port 0 --unixsocket "$work/n$number.sock" --unixsocketperm 700 --save '' --appendonly no \
        --daemonize no --dir "$work" --logfile "$work/n$number.log" </dev/null >/dev/null 2>&1 &
    node_pids[number]=$!
}

node() {
    local number=$1
    shift
    redis-cli -s "$work/n$number.sock" "$@" 2>/dev/null
}

is_up() {
    [ "$(node "$1" PING)" = PONG ]
}

# admit: the nodes of the fleet, new or started again, may vote at once: nothing is locked that matters.
admit() {
    "$REDLOCK" init --yes -q
}

# start_new_nodes: five of them that sit out; REDLOCK_NODES names them.
start_new_nodes() {
    local number
    for number in 1 2 3 4 5; do
        start_node "$number"
    done
    for number in 1 2 3 4 5; do
        until_true is_up "$number"
    done
    REDLOCK_NODES=$(printf 'unix://%s ' "$work"/n{1,2,3,4,5}.sock)
    export REDLOCK_NODES
}

# start_nodes: the same, and they vote.
start_nodes() {
    start_new_nodes
    admit
}

# restart_nodes NUMBER...: starts nodes that were killed, which have forgotten everything, and admits them.
restart_nodes() {
    local number
    for number; do
        start_node "$number"
    done
    for number; do
        until_true is_up "$number"
    done
    admit
}

# kill_nodes NUMBER...
kill_nodes() {
    local number
    for number; do
        kill -9 "${node_pids[number]}"
        wait "${node_pids[number]}" 2>/dev/null
        unset "node_pids[number]"
    done
}

# freeze_nodes NUMBER...: they are there, but do not answer, as in a partition. Nobody waits for them longer than users do.
freeze_nodes() {
    local number
    be_impatient
    for number; do
        kill -STOP "${node_pids[number]}"
    done
}

thaw_nodes() {
    local number
    for number; do
        kill -CONT "${node_pids[number]}"
    done
    be_patient
}

# occupy NAME: somebody else holds it on all nodes, for longer than any test.
occupy() {
    local number
    for number in 1 2 3 4 5; do
        node "$number" SET "$1" 'somebody|host=web-3|pid=4242|user=deploy|since=1700000000000|why=pg_dump prod' \
            PX 600000 >/dev/null
    done
}

vacate() {
    local number
    for number in 1 2 3 4 5; do
        node "$number" DEL "$1" >/dev/null
    done
}

# steal NAME: the holder's key is in somebody else's hands on all nodes. (Keys removed from a minority a holder plants again.)
steal() {
    local number
    for number in 1 2 3 4 5; do
        node "$number" SET "$1" thief PX 600000 >/dev/null
    done
}

# copies NAME: on how many of the five nodes the key is there.
copies() {
    local number count=0
    for number in 1 2 3 4 5; do
        [ "$(node "$number" EXISTS "$1")" = 1 ] && count=$((count + 1))
    done
    echo "$count"
}

# is_held NAME: a quorum has it.
is_held() {
    [ "$(copies "$1")" -ge 3 ]
}

copies_are() {
    [ "$(copies "$1")" = "$2" ]
}

# ---- processes and events -------------------------------------------------------------------------------------

# start ARGUMENT...: runs redlock in the background; $started is its pid, events go to $work/events, words to $work/err.
# A shell's background ignores INT and QUIT, which CMD would inherit; that is undone.
start() {
    : >"$work/events"
    : >"$work/out"
    : >"$work/err"
    env --default-signal=INT,QUIT "$REDLOCK" "$@" 3>"$work/events" >>"$work/out" 2>>"$work/err" </dev/null &
    started=$!
    started_pids+=("$started")
}

# finish: waits for it; sets $code, $out and $err.
finish() {
    wait "$started" 2>/dev/null
    code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
}

# talk COMMAND THEN WORD...: runs a command on a terminal, see talk.py; sets $code and $out, which has all that was shown.
talk() {
    out=$(python3 "$(dirname "${BASH_SOURCE[0]}")/talk.py" "$@")
    code=$?
    err=''
}

has_event() {
    grep -q "\"event\":\"$1\"" "$work/events"
}

# event NAME KEY: the number under KEY in the last event of this name.
event() {
    grep "\"event\":\"$1\"" "$work/events" | tail -n 1 | sed -nE "s/.*\"$2\":(-?[0-9]+).*/\1/p"
}

# events: their names in order, each once in a row.
events() {
    sed -nE 's/.*"event":"([a-z_]+)".*/\1/p' "$work/events" | uniq | paste -sd' '
}

is_alive() {
    local state
    state=$(sed -nE 's/^State:[[:space:]]*(.).*/\1/p' "/proc/$1/status" 2>/dev/null)
    [ -n "$state" ] && [ "$state" != Z ]
}

is_dead() {
    ! is_alive "$1"
}

has_content() {
    [ -s "$1" ]
}

# warden_of PID: the process between redlock and CMD.
warden_of() {
    pgrep -P "$1" | head -n 1
}

clean_up() {
    local pid
    for pid in "${started_pids[@]}" "${node_pids[@]}"; do
        kill -CONT "$pid" 2>/dev/null
        kill "$pid" 2>/dev/null
    done
    for pid in "${started_pids[@]}" "${node_pids[@]}"; do
        wait "$pid" 2>/dev/null
    done
    [ ! -d "$REDLOCK_LOCAL_DIR" ] || env -u REDLOCK_SERVER "$REDLOCK" local stop -q 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 143' TERM INT

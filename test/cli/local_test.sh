#!/usr/bin/env bash
# The five private nodes: started on demand, once however many want them, ended by name, and never in a folder of others.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

# servers: the pids of the local nodes, as status tells them.
servers() {
    "$REDLOCK" local status 2>/dev/null | sed -nE 's/.* up  pid ([0-9]+)$/\1/p'
}
# count_servers: how many processes live in our folder, known to status or not.
count_servers() {
    find /proc -maxdepth 2 -name cwd -lname "$REDLOCK_LOCAL_DIR" 2>/dev/null | wc -l
}

# ---- ten first uses at once
exits 'local status before the first use is 69' 69 local status
declare -a users=()
for number in {1..10}; do
    "$REDLOCK" run "job$number" -- true 2>"$work/err$number" &
    users+=($!)
done
failed=0
for pid in "${users[@]}"; do
    wait "$pid" || failed=$((failed + 1))
done
is 'ten first uses at once all succeed' "$failed" 0
is 'with five servers' "$(count_servers)" 5
only_here='redlock: no nodes configured: this lock holds for this user on this machine only'
looked_here='redlock: no nodes configured: these are the locks of this user on this machine only'
is 'one of the ten says that it started them' "$(cat "$work"/err? "$work"/err10 | grep -vxF "$only_here")" \
    "redlock: no nodes configured: started five local nodes in $REDLOCK_LOCAL_DIR (redlock local stop ends them)"
is 'and each of them how far its lock reaches' "$(cat "$work"/err? "$work"/err10 | grep -cxF "$only_here")" 10
exits 'the next use starts nothing' 0 run a -- true
is 'and says how far its lock reaches, too' "$err" "$only_here"
for command in 'acquire b --ttl 5s' status 'status b'; do
    # shellcheck disable=SC2086 # a command and its arguments
    exits "so does $command" 0 $command
    case $command in
    status*) ok 'in words for those who only look' has "$err" "$looked_here" ;;
    *) ok 'in the same words' has "$err" "$only_here" ;;
    esac
done
exits '-q does not' 0 run -q a -- true
is 'say anything' "$err" ''
exits '--require-nodes refuses local nodes' 78 run --require-nodes a -- true
says 'in words' 'no nodes are configured, and --require-nodes was given'
says 'with what to do' 'REDLOCK_NODES'
ok 'and where' has "$err" "into $XDG_CONFIG_HOME/redlock/redlock.conf"
mkdir -p "$XDG_CONFIG_HOME/redlock"
echo 'require_nodes = yes' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
for command in 'run a true' 'acquire a --ttl 5s' status 'init --yes'; do
    # shellcheck disable=SC2086
    exits "so does require_nodes = yes, for $command" 78 $command
    says 'naming the line' "$XDG_CONFIG_HOME/redlock/redlock.conf:1 has require_nodes = yes"
done
echo 'require_nodes = no' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
exits 'require_nodes = no does not' 0 run -q a -- true
echo 'require_nodes = perhaps' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
exits 'nothing else is understood' 78 run -q a -- true
says 'as it says' 'is neither yes nor no'
rm -r "$XDG_CONFIG_HOME/redlock"
exits 'a configuration that was named has to be there' 78 run --config "$work/no-such.conf" a -- true
says 'and is named' "$work/no-such.conf: No such file or directory"
REDLOCK_NODES=unix:///nowhere/n.sock exits 'also when the nodes are known without it' 78 run -n --config "$work/no-such.conf" a -- true
is 'the folder is private' "$(stat -c %a "$REDLOCK_LOCAL_DIR")" 700
is 'so are the sockets' "$(stat -c %a "$REDLOCK_LOCAL_DIR/node1.sock")" 700
exits 'local status lists the nodes' 0 local status
is 'all five' "$(grep -c ' up  pid ' "$work/out")" 5
exits 'also as JSON' 0 local status --json
ok 'with a count' has "$out" '"up":5'
exits 'local start changes nothing' 0 local start
says 'and says so' 'already run'
is 'indeed' "$(count_servers)" 5

# ---- they are a lock like any other
start run --status-fd 3 a -- sleep 60
until_true has_event acquired
exits 'a held lock is busy' 75 run -n a -- true
exits 'status shows it' 0 status a
ok 'with our process' has "$out" "pid $started"
kill "$started"
finish
REDLOCK_PASSWORD=x exits 'a password that is meant for other nodes does no harm' 0 run a -- true

# ---- they own nothing of who started them
"$REDLOCK" local stop -q
is 'a pipe to the first use ends with it' "$("$REDLOCK" run a -- echo 'done' 2>/dev/null 9>&1)" 'done'
pid=$(servers | head -n 1)
is 'they lead no terminal' "$(ps -o tty= -p "$pid" | tr -d ' ')" '?'
ok 'and are in another session' test "$(ps -o sid= -p "$pid")" -ne "$(ps -o sid= -p $$)"

# ---- servers that die
mapfile -t pids < <(servers)
kill -9 "${pids[0]}"
until_true is_dead "${pids[0]}"
exits 'with a quorum left nothing is started: a new server has no data' 0 run a -- true
is 'so there are four' "$(count_servers)" 4
exits 'local start starts the missing one' 0 local start
says 'and says so' 'started 1 of five'
mapfile -t pids < <(servers)
is 'now there are five' "${#pids[@]}" 5
kill -9 "${pids[@]:0:4}"
for pid in "${pids[@]:0:4}"; do
    until_true is_dead "$pid"
done
exits 'without a quorum the missing ones are started on demand, but do not vote: they lost what was locked' 69 run -n a -- true
says 'as is said' 'started 4 of five'
says 'with the reason' 'restarted or wiped'
is 'and there are five again' "$(count_servers)" 5
exits 'until somebody says that nothing is held' 0 init --yes
exits 'or the time is up that a lock could last' 0 run -n a -- true

# ---- files that go while locks are held
start run --status-fd 3 held -- sleep 600
until_true has_event acquired
mapfile -t pids < <(servers)
kill -9 "${pids[@]:0:3}"
for pid in "${pids[@]:0:3}"; do
    until_true is_dead "$pid"
done
find "$REDLOCK_LOCAL_DIR" -type f -delete
exits 'nodes that are started beside others do not vote, whatever became of their files' 69 run -n held -- true
kill "$started"
finish
exits 'they are ended' 0 local stop

start run --status-fd 3 --ttl 10s held -- sleep 600
until_true has_event acquired
mapfile -t pids < <(servers)
rm -r "$REDLOCK_LOCAL_DIR"
finish
is 'a holder whose nodes can be found by nobody any more has lost the lock' "$code" 79
says 'and is told why' 'files of the local nodes are gone'
for pid in "${pids[@]}"; do
    ok 'such nodes go on' is_alive "$pid"
done
exits 'nodes that are started instead of them do not vote: they cannot know what was locked' 69 run -n held -- true
says 'as is said' 'without their files'
for pid in "${pids[@]}"; do
    ok 'and the others are ended' until_true is_dead "$pid"
done
exits 'nothing is left of them' 0 local stop
ok 'indeed' test ! -e "$REDLOCK_LOCAL_DIR"

# A holder is alive, but all its nodes have died and their files are gone: only the holder itself shows that there were any.
start run --status-fd 3 --ttl 10s --on-lost ignore held -- sleep 600
until_true has_event acquired
mapfile -t pids < <(servers)
kill -STOP "$started"
kill -9 "${pids[@]}"
for pid in "${pids[@]}"; do
    until_true is_dead "$pid"
done
rm -r "$REDLOCK_LOCAL_DIR"
exits 'nodes that are started while a holder of others lives do not vote' 69 run -n held -- true
says 'as is said' 'is still running'
kill -CONT "$started"
kill "$started"
finish
exits 'to the end' 0 local stop
exits 'without a holder they vote at once' 0 run -n held -- true

# ---- stop
mapfile -t pids < <(servers)
redis-server --port 0 --unixsocket "$work/other.sock" --save '' --dir "$work" >/dev/null 2>&1 &
node_pids[9]=$!
until_true redis-cli -s "$work/other.sock" PING >/dev/null
kill -STOP "${pids[2]}"
exits 'local stop succeeds' 0 local stop
says 'and says how many it ended' 'ended 5'
for pid in "${pids[@]}"; do
    ok 'each of them has ended, even a hung one' until_true is_dead "$pid"
done
ok 'other servers are left alone' is_alive "${node_pids[9]}"
ok 'the files are gone' test ! -e "$REDLOCK_LOCAL_DIR"
exits 'stopping twice is fine' 0 local stop
says 'and says so' 'no local nodes'

# ---- stopped while a lock is held
rm -f "$work/pid"
start run --status-fd 3 --ttl 10s held -- sh -c 'echo $$ >"$0"; exec sleep 60' "$work/pid"
until_true has_content "$work/pid"
exits 'nodes can be stopped while a lock is held' 0 local stop
exits 'the next caller gets it' 0 run -n held -- sh -c 'kill -0 "$0"; echo $?' "$(<"$work/pid")"
is 'when the last holder has ended' "$(tail -n 1 "$work/out")" 1
says 'after waiting for that' 'locks were held when the local nodes were stopped'
finish
is 'who had lost it' "$code" 79
exits 'without a lock nothing is waited for' 0 local stop
exits 'the next time' 0 run a -- true
ok 'indeed' lacks "$err" 'locks were held'
exits 'to the end' 0 local stop

# ---- leftovers
mkdir -m 700 "$REDLOCK_LOCAL_DIR"
echo $$ >"$REDLOCK_LOCAL_DIR/node1.pid"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$REDLOCK_LOCAL_DIR/node1.sock"
# They do not vote at once, for nobody knows what was locked: with locks of 3 s that does not take a minute.
mkdir -p "$XDG_CONFIG_HOME/redlock"
printf 'ttl = 2s\nmax_ttl = 3s\n' >"$XDG_CONFIG_HOME/redlock/redlock.conf"
exits 'old pid files and sockets are no obstacle' 0 run a -- true
rm -r "$XDG_CONFIG_HOME/redlock"
is 'there are five servers' "$(count_servers)" 5
exits 'and they can be stopped' 0 local stop
ok 'without ending the process whose number was in the file' is_alive $$

# ---- folders that are not ours alone
# refused NAME WORDS: the folder in REDLOCK_LOCAL_DIR is refused with these words.
refused() {
    exits "$1" 71 run a -- true
    says 'and it says why' "$2"
}
ours=$REDLOCK_LOCAL_DIR
mkdir -m 755 "$work/open"
REDLOCK_LOCAL_DIR=$work/open refused 'a folder that others can enter is refused' 'can be entered by others'
mkdir -m 700 "$work/private"
ln -s "$work/private" "$work/link"
REDLOCK_LOCAL_DIR=$work/link refused 'a symbolic link is refused' 'is a symbolic link'
touch "$work/plain"
REDLOCK_LOCAL_DIR=$work/plain refused 'a file is refused' 'is not a directory'
REDLOCK_LOCAL_DIR=$work/$(printf 'x%.0s' {1..120}) refused 'a path too long for a socket is refused' 'too long'
REDLOCK_LOCAL_DIR=$work/no/such refused 'a folder that cannot be made is refused' 'No such file'
REDLOCK_LOCAL_DIR=relative refused 'a relative one is refused' 'start with /'
if [ "$(id -u)" -eq 0 ]; then
    mkdir -m 700 "$work/foreign"
    chown 65534 "$work/foreign"
    REDLOCK_LOCAL_DIR=$work/foreign refused 'a folder of another user is refused' 'belongs to user 65534'
else
    REDLOCK_LOCAL_DIR=/usr refused 'a folder of another user is refused' 'belongs to user 0'
fi

# ---- the usual places
# secluded COMMAND...: runs it where /tmp and /run/user are empty folders of ours: whatever nodes the user has, they are
# neither found nor touched. What we need ourselves may be below /tmp, and is put there again.
secluded() {
    mkdir -p "$work/tmp" "$work/users"
    REDLOCK_LOCAL_DIR='' unshare --map-root-user --mount sh -c '
        work=$1 build=$2
        shift 2
        for kept in "$work" "$build"; do
            case $kept in /tmp/*) mkdir -p "$work$kept" && mount --rbind "$kept" "$work$kept" || exit 125 ;; esac
        done
        [ ! -d /run/user ] || mount --bind "$work/users" /run/user || exit 125
        mount --rbind "$work/tmp" /tmp && exec "$@"' sh "$work" "$BUILD" "$@"
}
# logged_in NAME CODE ARGUMENT...: as exits, there, with a runtime folder.
logged_in() {
    local name=$1 expected=$2
    shift 2
    XDG_RUNTIME_DIR=$work/runtime secluded "$REDLOCK" "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
    is "$name" "$code" "$expected"
}
mkdir -m 700 "$work/runtime"
if secluded true 2>/dev/null; then
    logged_in 'the runtime folder of the user is the usual place' 0 run a -- true
    says 'as it says' "$work/runtime/redlock"
    logged_in 'and is cleaned up there' 0 local stop

    # ---- the place does not depend on who is logged in
    secluded "$REDLOCK" run -q --ttl 10s nightly -- sh -c 'echo >"$0.runs"; while [ ! -e "$0" ]; do sleep 0.05; done' "$work/enough" &
    started_pids+=($!)
    job=$!
    until_true has_content "$work/enough.runs"
    ok 'without a runtime folder the nodes are in /tmp' test -S "$work/tmp/redlock-0/node1.sock"
    logged_in 'a lock taken before the login is held after it' 75 run -qn nightly -- true
    logged_in 'status finds the nodes too' 0 local status
    ok 'where they run' has "$out" '/tmp/redlock-0/node1.sock'
    logged_in 'and stop' 0 local stop
    touch "$work/enough"
    wait "$job"
    logged_in 'what was held when they were stopped is heeded' 0 run -n nightly -- true
    says 'from any place' 'locks were held when the local nodes were stopped'
    logged_in 'they are stopped' 0 local stop
    ok 'and gone from there' test ! -e "$work/tmp/redlock-0"
    logged_in 'now they start' 0 run nightly -- true
    says 'in the runtime folder' "$work/runtime/redlock"
    logged_in 'to the end' 0 local stop
    ln -s "$work/private" "$work/tmp/redlock-0"
    logged_in 'a place that is not ours alone is not looked at' 0 run nightly -- true
    logged_in 'indeed' 0 local stop
    rm "$work/tmp/redlock-0"
    if [ "$(id -u)" -eq 0 ]; then
        # Root after su: the runtime folder is that of whoever logged in.
        chown 65534 "$work/runtime"
        logged_in 'the runtime folder of another user is not used' 0 run nightly -- true
        says 'but one of our own' '/tmp/redlock-0'
        ok 'and nothing is put there' test ! -e "$work/runtime/redlock"
        logged_in 'where they are found again' 0 local stop
    else
        ok 'the runtime folder of another user # SKIP this needs root' true
    fi
else
    ok 'the usual places # SKIP this needs user namespaces' true
fi

mkdir -m 700 "$work/od%d, #?"
REDLOCK_LOCAL_DIR="$work/od%d, #?" exits 'a folder with an odd name works' 0 run a -- true
REDLOCK_LOCAL_DIR="$work/od%d, #?" exits 'to the end' 0 local stop

# ---- the program
REDLOCK_LOCAL_DIR=$ours REDLOCK_SERVER=/no/such/server exits 'a server that is not there is 69' 69 run a -- true
says 'and is named' '/no/such/server'
mkdir "$work/empty"
PATH=$work/empty "$REDLOCK" run a -- true 2>"$work/err"
code=$? err=$(<"$work/err")
is 'no server at all is 69' "$code" 69
says 'and the package is named' 'install the package redis-server or valkey-server'
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v redis-server)" >"$work/empty/valkey-server"
chmod +x "$work/empty/valkey-server"
PATH=$work/empty "$REDLOCK" run a -c : 2>"$work/err"
is 'valkey-server does as well' "$?" 0
exits 'and can be stopped' 0 local stop
exits 'local takes one of three words' 64 local restart

done_testing

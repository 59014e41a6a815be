#!/usr/bin/env bash
# Waiting: what is said meanwhile, to people and to programs, and what an interruption leaves behind, which is nothing.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# ---- what is said
occupy a
start run --status-fd 3 a -- echo ran
until_true has_event waiting
vacate a
finish
is 'one that waits gets the lock' "$code/$out" 0/ran
is 'the events are in order' "$(events)" 'waiting acquired child_exit released'
ok 'the holder is among them' has "$(<"$work/events")" '"holder":{"id":"somebody","host":"web-3"'
ok 'each has a name and a time' equals "$(grep -c '"name":"a","time_ms":[0-9]' "$work/events")" 4
ok 'off a terminal one line says that we wait, and for whom' matches "$err" \
    'redlock: a is held by web-3 \(pid 4242, user deploy, "pg_dump prod"\) for [0-9]+d[0-9]+h, [0-9]+m[0-9]+s left, 1st in line; waiting'
ok 'and one that we have it' matches "$err" 'redlock: a acquired after [0-9]'
is 'and no more' "$(grep -c . "$work/err")" 2
exits 'one that does not wait' 0 run b -- true
is 'says nothing' "$err" ''
occupy a
start run -q --status-fd 3 a -- true
until_true has_event waiting
vacate a
finish
is '-q says nothing' "$err" ''
start run --status-fd 3 --ttl 30s --renew 200ms a -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done' "$work/go"
until_true has_event renewed
touch "$work/go"
finish
is 'renewals are events too' "$(events)" 'acquired renewed child_exit released'
ok '-v tells every step' "$REDLOCK" run -v a -- true 2>"$work/err"
ok 'on stderr' has_content "$work/err"

# What others write into a lock must not reach a terminal as it is.
for number in 1 2 3 4 5; do
    node "$number" SET evil $'x|host=a\x1b[2Jb|pid=1|user=u|since=1|why=\xff\xfe\x9b' PX 600000 >/dev/null
done
exits 'an owner value full of control characters is shown' 75 run -n evil -- true
ok 'without them' equals "$(LC_ALL=C tr -d '\n -~' <"$work/err" | wc -c)" 0
exits 'and is good JSON' 75 run -n --json evil -- true
ok 'indeed' python3 -c 'import json, sys; json.loads(sys.stdin.buffer.read().decode("utf-8"))' <"$work/err"

# ---- who is told
# watches COUNT: so many nodes have somebody to tell when a key changes.
watches() {
    local number count=0
    for number in 1 2 3 4 5; do
        [ "$(info "$number" clients tracking_clients)" = 0 ] || count=$((count + 1))
    done
    [ "$count" -eq "$1" ]
}
# info NUMBER SECTION FIELD
info() {
    node "$1" INFO "$2" | tr -d '\r' | sed -n "s/^$3://p"
}
occupy a
start run -v --status-fd 3 a -- true
until_true watches 5
vacate a
finish
is 'redis-cli DEL lets a waiter in' "$code" 0
ok 'the nodes told it' test "$(grep -c 'changed$' "$work/err")" -ge 3
ok 'which is why it asked again' matches "$(grep -B1 'ask again' "$work/err")" 'changed'
is 'and gave nothing up meanwhile' "$(grep -c 'round 2 > ask' "$work/err")" 0
until_true watches 0
ok 'when it has gone nobody is to be told' watches 0
exits 'one that gives up' 75 run -w 2s evil -- true
ok 'leaves nobody to be told either' until_true watches 0

# ---- interruption
for signal in INT:130 TERM:143 HUP:129 QUIT:131; do
    occupy a
    start run --status-fd 3 a -- touch "$work/ran"
    until_true has_event waiting
    until_true watches 5
    ok 'the nodes are to tell it' watches 5
    kill "-${signal%:*}" "$started"
    finish
    is "${signal%:*} while waiting is ${signal#*:}" "$code" "${signal#*:}"
    is 'the other keeps the lock' "$(copies a)" 5
    until_true watches 0
    ok 'and nobody is to be told any more' watches 0
    vacate a
    is 'and nothing of ours comes after it' "$(copies a)" 0
done
ok 'CMD never ran' test ! -e "$work/ran"

# Partial grants: two nodes are free, three are not.
for number in 1 2 3; do
    node "$number" SET part other PX 600000 >/dev/null
done
start run --status-fd 3 part -- true
until_true has_event waiting
kill -TERM "$started"
finish
is 'TERM while waiting is 143' "$code" 143
is 'partial grants are undone' "$(node 4 EXISTS part)$(node 5 EXISTS part)" 00
is 'those of the other are not' "$(node 1 GET part)$(node 2 GET part)$(node 3 GET part)" otherotherother
exits 'one that gives up leaves nothing either' 75 run -w 2s part -- true
is 'on no node' "$(node 4 EXISTS part)$(node 5 EXISTS part)" 00
start acquire --ttl 60s part
is_watched() { [ "$(info 1 clients tracking_clients)" != 0 ]; }
until_true is_watched
kill -TERM "$started"
finish
is 'acquire can be interrupted too' "$code" 143
is 'and leaves nothing' "$(node 4 EXISTS part)$(node 5 EXISTS part)" 00

# Nodes that hang have partial grants under way.
freeze_nodes 1 2 3
start run --status-fd 3 hang -- true
until_true has_event waiting
kill -TERM "$started"
finish
is 'TERM while nodes hang is 143' "$code" 143
thaw_nodes 1 2 3
for number in 1 2 3; do
    until_true is_up "$number"
done
is 'and nothing appears when they go on' "$(copies hang)" 0

# ---- nodes that are not there; when they come back without their memory somebody has to admit them
kill_nodes 1 2 3
start run --status-fd 3 a -- echo ran
until_true has_event waiting
ok 'without a quorum and without a limit it waits' is_alive "$started"
until_true has_content "$work/err"
ok 'and says for what' has "$(<"$work/err")" 'no quorum'
restart_nodes 1 2 3
finish
is 'and goes on when the nodes are back and admitted' "$code/$out" 0/ran

# ---- nodes that are full
for words in guarded plain; do
    mode=()
    [ "$words" = guarded ] || mode=(--plain)
    for number in 1 2 3; do
        node "$number" CONFIG SET maxmemory 1 >/dev/null
    done
    start run --status-fd 3 "${mode[@]}" full -- echo ran
    until_true has_content "$work/err"
    ok "one that waits for full nodes is told so, $words" has "$(<"$work/err")" \
        'full: nodes 1, 2 and 3 are out of memory: raise maxmemory there, or remove data; waiting'
    for number in 1 2 3; do
        node "$number" CONFIG SET maxmemory 0 >/dev/null
    done
    finish
    is 'and goes on when there is room' "$code/$out" 0/ran
done

# ---- nodes that take no packets: what is still under way when the wait is over does not make it longer
python3 - >"$work/holes" <<'END' &
import socket, threading
listeners, clients = [], []
for node in range(5):
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    listeners.append(listener)
    for _ in range(3):  # more than it has room for: those that come now are not even refused
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        clients.append(client)
print(",".join("redis://127.0.0.1:%d" % one.getsockname()[1] for one in listeners), flush=True)
threading.Event().wait()
END
holes=$!
started_pids+=("$holes")
until_true has_content "$work/holes"
printf 'connect_timeout = 60s\nnode_timeout = 200ms\n' >"$work/holes.conf"
for wait in 1ms 700ms; do
    REDLOCK_NODES=$(<"$work/holes") try run --config "$work/holes.conf" --json -w "$wait" hole -- true
    is "a wait of $wait at black holes is no quorum" "$code" 69
    ok "and is over before they are given up" matches "$err" '"waited_ms":[0-9]{1,4}[,}]'
    ok 'and says that they are not connected' has "$err" 'no connection yet'
done
kill "$holes"

done_testing

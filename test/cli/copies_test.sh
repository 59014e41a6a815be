#!/usr/bin/env bash
# A held lock is on every node that can be reached, also on nodes that were late: five copies, each time, in both modes, of run
# and of acquire, with all nodes near and with two of them 30 ms away.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
near=$REDLOCK_NODES
TIMES=40

# acquire waits so long for nodes that are on their way, and a quarter of it for one that takes no connection yet: a relay on a busy machine.
connect_within() { printf '%s\n' "connect_timeout = $1" 'node_timeout = 10s' >"$work/config/redlock/redlock.conf"; }
connect_within 60s

# relay NUMBER: a way to a node that takes 30 ms each way; its URL is in $away.
relay() {
    mkfifo "$work/orders$1"
    "$BUILD/test/chaos-relay" 127.0.0.1 0 "$work/n$1.sock" <"$work/orders$1" >"$work/port$1" &
    started_pids+=("$!")
    (printf 'delay 30\nanswer-delay 30\n' && exec sleep 600) >"$work/orders$1" &
    started_pids+=("$!")
    until_true test -s "$work/port$1"
    away="redis://127.0.0.1:$(<"$work/port$1")"
}

# short_copies COMMAND...: how often out of $TIMES the lock that a command takes did not come to five copies.
short_copies() {
    local turn short=0
    for ((turn = 0; turn < TIMES; turn++)); do
        "$@" "copies-$RANDOM-$turn" || short=$((short + 1))
    done
    echo "$short"
}

# by_acquire NAME: when it has returned, the lock is everywhere.
by_acquire() {
    "$REDLOCK" acquire "$1" --ttl 60s "${mode[@]}" -q >/dev/null 2>&1 && copies_are "$1" 5
}

# by_run NAME: while its command runs, it gets everywhere.
by_run() {
    # shellcheck disable=SC2016
    work=$work timeout 20 "$REDLOCK" run "$1" -q "${mode[@]}" -- bash -c '
        for number in 1 2 3 4 5; do
            until [ "$(redis-cli -s "$work/n$number.sock" EXISTS "$REDLOCK_NAME")" = 1 ]; do sleep 0.01; done
        done' >/dev/null 2>&1
}

for words in guarded plain; do
    mode=()
    [ "$words" = guarded ] || mode=(--plain)
    is "acquire leaves five copies, $words" "$(short_copies by_acquire)" 0
    is "run has five copies, $words" "$(short_copies by_run)" 0
done

TIMES=8
relay 4
far=$away
relay 5
REDLOCK_NODES="$(printf 'unix://%s ' "$work"/n{1,2,3}.sock) $far $away"
for words in guarded plain; do
    mode=()
    [ "$words" = guarded ] || mode=(--plain)
    is "acquire leaves five copies with two nodes far away, $words" "$(short_copies by_acquire)" 0
    is "run has five copies with two nodes far away, $words" "$(short_copies by_run)" 0
done

# One flushed node lets nobody in any more, and a dead one ends nothing.
connect_within 10s
REDLOCK_NODES=$near
mode=(--plain)
by_acquire held
node 1 FLUSHALL >/dev/null
exits 'a flushed plain node lets no second holder in' 75 run held -n --plain -- true
REDLOCK_OWNER=$(node 2 GET held)
export REDLOCK_OWNER
exits 'a lock is extended' 0 extend held --ttl 60s --plain -q
extended_everywhere() { "$REDLOCK" extend held --ttl 60s --plain -q >/dev/null && copies_are held 5; }
ok 'extending gives it back to the node that lost it, sooner or later when that is slow' until_true extended_everywhere
kill_nodes 2
exits 'a dead node keeps nobody from extending' 0 extend held --ttl 60s --plain -q
exits 'nor from releasing' 0 release held --plain -q

# ---- a frozen node does not cost a lease
freeze_nodes 3
printf 'nodes = %s\nconnect_timeout = 60s\n' "$REDLOCK_NODES" >"$work/slow.conf"
exits 'a frozen node is waited for while most of the lease is left' 0 acquire brief --ttl 8s --plain --config "$work/slow.conf"
ok 'and the lease is printed' matches "$out" 'validity_ms [1-9][0-9]*'
thaw_nodes 3

done_testing

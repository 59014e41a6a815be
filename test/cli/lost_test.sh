#!/usr/bin/env bash
# A lock that is lost while CMD runs: CMD and all it started are stopped before the lock can go to somebody else.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

# end_of_validity: the latest point in time at which the lock could be relied on, by the events.
end_of_validity() {
    local name best=0 at
    for name in acquired renewed; do
        has_event "$name" || continue
        at=$(($(event "$name" time_ms) + $(event "$name" validity_ms)))
        [ "$at" -le "$best" ] || best=$at
    done
    echo "$best"
}

# renewed_after LINE: there is a renewal behind this line of the events.
renewed_after() {
    tail -n "+$(($1 + 1))" "$work/events" | grep -q '"event":"renewed"'
}

start_nodes
be_impatient # holders that are there before nodes freeze

# ---- the majority is killed
# Three processes that say all the time when they were last alive: CMD, a daemon, and an orphan that does not hear TERM.
cat >"$work/tree" <<'SCRIPT'
trap 'echo TERM >"$1/got"; exit 0' TERM
cat >"$1/live" <<'LIVE'
trap '' TERM
while :; do date +%s%3N >>"$1"; sleep 0.02; done
LIVE
setsid sh "$1/live" "$1/stamps.daemon" &
echo $! >"$1/daemon"
(sh -c 'echo $$ >"$1/orphan"; exec sh "$1/live" "$1/stamps.orphan"' _ "$1" &)
echo $$ >"$1/pid"
while :; do date +%s%3N >>"$1/stamps.pid"; sleep 0.02; done
SCRIPT
start run --status-fd 3 --ttl 10s --renew 700ms a -- bash "$work/tree" "$work"
until_true has_content "$work/pid"
until_true has_content "$work/orphan"
until_true has_event renewed
kill_nodes 1 2 3
finish
is 'a lost lock is 79, whatever CMD made of it' "$code" 79
says 'and is said to be lost' 'a is lost'
is 'CMD got TERM first' "$(<"$work/got")" TERM
for who in pid daemon orphan; do
    ok "nothing is left of it: $who" is_dead "$(<"$work/$who")"
done
ok 'the events say it' has_event lost
ok 'with time left' below 1 "$(event lost validity_ms)"
for who in pid daemon orphan; do
    ok "it did nothing after validity had ended: $who" below "$(tail -n 1 "$work/stamps.$who")" "$(end_of_validity)"
done
ok 'renewals that failed are told of' has_event degraded
is 'what the living nodes had was given back' "$(copies a)" 0
restart_nodes 1 2 3

# ---- the majority does not answer
rm -f "$work/pid"
start run --status-fd 3 --ttl 10s --grace 200ms a -- \
    sh -c 'trap "" TERM; echo $$ >"$0"; while :; do date +%s%3N >>"$0.stamps"; sleep 0.02; done' "$work/pid"
until_true has_content "$work/pid"
freeze_nodes 1 2 3
finish
thaw_nodes 1 2 3
is 'nodes that hang lose the lock too' "$code" 79
ok 'CMD is killed when it does not hear TERM' is_dead "$(<"$work/pid")"
ok 'before validity ends' below "$(tail -n 1 "$work/pid.stamps")" "$(end_of_validity)"
ok 'by KILL' equals "$(event child_exit signal)" 9
vacate a

# ---- a minority is killed
start run --status-fd 3 --ttl 20s --renew 300ms a -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done; exit 5' "$work/go"
until_true has_event renewed
until_true copies_are a 5
kill_nodes 4 5
until_true has_event degraded
ok 'with a minority gone it is renewed all the same' until_true renewed_after "$(grep -c . "$work/events")"
touch "$work/go"
finish
is 'and CMD runs to its end' "$code" 5
ok 'nothing is lost' lacks "$(events)" lost
restart_nodes 4 5

# ---- somebody took the key
rm -f "$work/pid"
start run --status-fd 3 --ttl 20s --renew 500ms a -- sh -c 'echo $$ >"$0"; while :; do sleep 0.05; done' "$work/pid"
until_true has_content "$work/pid"
steal a
finish
is 'a lock that somebody else has taken is lost' "$code" 79
ok 'and CMD is stopped' is_dead "$(<"$work/pid")"
is 'the other keeps it' "$(node 1 GET a)$(node 5 GET a)" thiefthief
vacate a

# hears_of NAME COMMAND...: CMD gets TERM when the command has taken the lock away, and is left alone for a moment.
hears_of() {
    local name=$1
    shift
    rm -f "$work/pid" "$work/got"
    start run --status-fd 3 --ttl 30s --renew 300ms a -- \
        bash -c 'trap "sleep 0.1; echo TERM >$0/got; exit 0" TERM; echo $$ >"$0/pid"; while :; do sleep 0.05; done' "$work"
    until_true has_content "$work/pid"
    "$@"
    finish
    is "$name" "$code" 79
    ok 'CMD gets TERM and can put its things in order' has_content "$work/got"
    is 'so it ends by itself' "$(event child_exit code)" 0
}
flush() {
    local number
    for number in 1 2 3 4 5; do
        node "$number" FLUSHALL >/dev/null
    done
}
hears_of 'one that somebody took at the nodes is lost' steal a
vacate a
hears_of 'one whose nodes forgot everything is lost' flush
admit

# does_not_end OPTION...: CMD does not care about TERM when its lock is taken away.
does_not_end() {
    rm -f "$work/pid"
    start run --status-fd 3 --ttl 60s --renew 300ms "$@" a -- \
        sh -c 'trap "" TERM; echo $$ >"$0"; while :; do sleep 0.02; done' "$work/pid"
    until_true has_content "$work/pid"
    steal a
    finish
    vacate a
    is 'CMD that does not end is killed' "$code/$(event child_exit signal)" 79/9
}
# How soon is in test/unit/run_lease_test.c.
does_not_end --grace 25s
does_not_end --grace 0
does_not_end --on-lost kill

start run --status-fd 3 --ttl 20s --renew 300ms a -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done' "$work/go1"
until_true has_event acquired
until_true copies_are a 5
node 1 DEL a >/dev/null
node 2 DEL a >/dev/null
all_hold() { [ "$(copies a)" = 5 ]; }
ok 'removed from a minority it is planted again while it is valid' until_true all_hold
touch "$work/go1"
finish
is 'so nothing is lost' "$code" 0

rm -f "$work/pid"
start run --status-fd 3 --ttl 20s --renew 300ms a -- sh -c 'echo $$ >"$0"; while :; do sleep 0.05; done' "$work/pid"
until_true has_content "$work/pid"
vacate a
finish
is 'removed from all nodes it is lost: somebody else may have had it meanwhile' "$code" 79
is 'and is not planted again' "$(copies a)" 0

start run --status-fd 3 --ttl 60s a -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done' "$work/go2"
until_true has_event acquired
vacate a
touch "$work/go2"
finish
is 'one that was removed between two renewals is found out at the end' "$code" 79
says 'and said' 'no longer held when'
ok 'in the events too' has_event lost

# ---- what --on-lost says
rm -f "$work/pid" "$work/got"
start run --status-fd 3 --ttl 4s --on-lost kill a -- \
    bash -c 'trap "echo TERM >$0/got" TERM; echo $$ >"$0/pid"; while :; do sleep 0.05; done' "$work"
until_true has_content "$work/pid"
freeze_nodes 1 2 3
finish
thaw_nodes 1 2 3
is '--on-lost kill is 79 too' "$code" 79
ok 'without TERM' test ! -e "$work/got"
is 'by KILL' "$(event child_exit signal)" 9
vacate a

start run --status-fd 3 --ttl 4s --on-lost ignore a -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done; exit 8' "$work/go3"
until_true has_event acquired
freeze_nodes 1 2 3
until_true has_event lost
ok '--on-lost ignore lets CMD go on' is_alive "$started"
touch "$work/go3"
finish
thaw_nodes 1 2 3
is 'and passes its exit code on' "$code" 8
says 'but says that it was lost' 'a is lost'
vacate a

# ---- lost when CMD has ended already
start run --status-fd 3 --ttl 4s --min-hold 1h a -- sh -c 'exit 4'
until_true has_event child_exit
freeze_nodes 1 2 3
finish
thaw_nodes 1 2 3
is 'a lock that is lost during --min-hold does not change the exit code' "$code" 4
says 'but is told of' 'after sh had ended'
vacate a

# ---- redlock itself does not run
rm -f "$work/pid"
start run --status-fd 3 --ttl 4s a -- sh -c 'setsid sleep 60 & echo $! >"$0"; while :; do sleep 0.05; done' "$work/pid"
until_true has_content "$work/pid"
kill -STOP "$started"
ok 'a redlock that is stopped does not keep CMD alive' until_true is_dead "$(<"$work/pid")"
kill -CONT "$started"
finish
is 'and says so when it goes on' "$code" 79
ok 'with the true reason' matches "$err" '\(it (was not|could not be) renewed in time'
ok 'and blames no node' lacks "$err" 'of 5 nodes'

# The same when a renewal was under way: the nodes would have renewed it in time, had anybody been there to read it.
rm -f "$work/pid"
start run --status-fd 3 --ttl 8s --renew 20ms a -- sh -c 'echo $$ >"$0"; while :; do sleep 0.05; done' "$work/pid"
until_true has_content "$work/pid"
until_true has_event renewed
freeze_nodes 1 2 3
until_true has_event degraded
kill -STOP "$started"
thaw_nodes 1 2 3
until_true is_dead "$(<"$work/pid")"
kill -CONT "$started"
finish
is 'one that is stopped while it renews loses it too' "$code" 79
ok 'for the same reason' matches "$err" 'is lost \(it (was not|could not be) renewed in time'

# ---- redlock does not run between getting the lock and starting CMD
# A pipe that is full holds it there; then it is stopped until the lock is gone.
mkfifo "$work/full"
exec 8<>"$work/full"
dd if=/dev/zero bs=4096 count=16 status=none >&8
"$REDLOCK" run --status-fd 8 --ttl 4s a -- touch "$work/late" 2>"$work/err" &
started=$!
until_true is_held a
kill -STOP "$started"
until_true copies_are a 0
kill -CONT "$started"
cat <&8 >/dev/null &
drain=$!
wait "$started"
is 'a lock that was lost before CMD could be started is lost' "$?" 79
ok 'and CMD is not started' test ! -e "$work/late"
ok 'which is said' grep -q 'touch was not started' "$work/err"
kill "$drain"
wait "$drain" 2>/dev/null
exec 8>&-

done_testing

#!/usr/bin/env bash
# Who waits, as people and programs see it, and --kind fair, which is the default: the lock goes round in the order of asking.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
export TERM=xterm LC_ALL=C.UTF-8

# start_waiter WHO KIND: runs redlock in the background; what it does when its turn comes is to write its name down.
start_waiter() {
    "$REDLOCK" run -q --kind "$2" --who "$1" --why "turn of $1" a -- sh -c "echo $1 >>'$work/order'" </dev/null \
        >/dev/null 2>"$work/$1.err" &
    started_pids+=("$!")
}

# in_line NUMBER COUNT: so many stand in the line that a node keeps.
in_line() {
    [ "$(node "$1" ZCARD "redlock-line:{a}:waiters")" = "$2" ]
}

# everywhere CHECK ARGUMENT...: it holds for every node.
everywhere() {
    local check=$1 number
    shift
    for number in 1 2 3 4 5; do
        "$check" "$number" "$@" || return 1
    done
}

# waits WHO...: status names them, in this order.
waits() {
    try status a
    [ "$(sed -nE 's/^  waiting .* user ([a-z]+),.*/\1/p' <<<"$out" | paste -sd' ')" = "$*" ]
}

# no_waiters NUMBER: nothing of those who waited is left at a node.
no_waiters() {
    ! node "$1" KEYS 'redlock-line:*' | grep -v ':order$' | grep -q .
}

# ---- the line
occupy a
for who in one two three; do
    start_waiter "$who" fair
    count=$((${count:-0} + 1))
    until_true everywhere in_line "$count"
    ok "$who is in line everywhere" everywhere in_line "$count"
done
exits 'status tells of them' 0 status a
ok 'how many and since when' matches "$out" $'\n  waiting 3, since [0-9]+:[0-9]+:[0-9]+ \([0-9]+m?s'
ok 'who comes first' matches "$out" \
    $'\n  waiting 1\. '"$(hostname)"' pid [0-9]+ user one, since [0-9:]+ \([0-9]+m?s?[0-9]*s?\), why "turn of one"'
ok 'and then' waits one two three
exits 'JSON too' 0 status --json a
ok 'has the number' has "$out" '"waiting":3'
is 'and the order' "$(python3 -c 'import json, sys
print(*("%s%d" % (w["user"], w["place"]) for w in json.load(sys.stdin)["waiters"]))' <<<"$out")" 'one1 two2 three3'
exits 'status -v' 0 status -v a
is 'tells what each node does for those who wait' "$(grep -c 'push notifications: yes' "$work/out")" 5
exits 'as does JSON' 0 status --json a
is 'for all nodes' "$(grep -o '"notifies":true' <<<"$out" | wc -l)" 5
start run --status-fd 3 a -- true
until_true has_event waiting
is 'a program that waits is told how many others do' "$(event waiting others)" 3
is 'and its place' "$(event waiting place)" 4
ok 'as is a person' has "$(<"$work/err")" ', 4th in line; waiting'
kill -TERM "$started"
finish
until_true everywhere in_line 3
vacate a
until_true eval '[ "$(wc -l <"$work/order")" = 3 ]'
is 'they come in the order of asking' "$(paste -sd' ' "$work/order")" 'one two three'
until_true everywhere no_waiters
ok 'and leave nothing in line' everywhere no_waiters

# ---- what is handed over, for a second at first, is had for the whole TTL before CMD starts
start_holder() {
    "$REDLOCK" run -q a -- sh -c 'touch "$0/held"; while [ ! -e "$0/over" ]; do sleep 0.05; done' "$work" </dev/null >/dev/null 2>&1 &
    started_pids+=("$!")
    until_true test -e "$work/held"
}
start_holder
start run -v --status-fd 3 --ttl 60s a -- sh -c 'for socket in "$0"/n?.sock; do redis-cli -s "$socket" PTTL a; done' "$work"
until_true everywhere in_line 1
touch "$work/over"
finish
is 'one that is handed the lock runs CMD' "$code" 0
ok 'nodes handed it over' matches "$err" 'node [1-5] +> handed over'
ok 'it says how long it has the lock' test "$(event acquired validity_ms)" -gt 30000
is 'and CMD finds it so at a quorum of nodes' "$(awk '$1 > 30000 { count++ } END { print (count >= 3) }' <<<"$out")" 1

# ---- the default kind stands in the same line
occupy a
start_waiter one exclusive
until_true waits one
ok 'who waits for the default kind is named' waits one
ok 'with its place' has "$out" 'waiting 1. '
first=${started_pids[-1]}
talk sh -c '"$0" run --status-fd 3 a -- true 3>"$1"' "$REDLOCK" "$work/events" \
    THEN '?2nd in line' "&kill $first" '?1st in line' '!\x03'
ok 'a live line tells the place' has "$out" '· 2nd in line'
ok 'and that it has moved up' has "$out" '· 1st in line'
is 'as programs are told' "$(event waiting place) $(event moved place)" '2 1'
vacate a
until_true everywhere no_waiters
ok 'a caller that does not wait any more is not shown' everywhere no_waiters

# ---- who gives up, or is killed
occupy a
start run --kind fair --status-fd 3 a -- touch "$work/ran"
until_true everywhere in_line 1
kill -TERM "$started"
finish
is 'a fair waiter can be interrupted' "$code" 143
until_true everywhere no_waiters
ok 'and leaves the line' everywhere no_waiters
exits 'one whose time is over' 75 run --kind fair -w 2s a -- touch "$work/ran"
until_true everywhere no_waiters
ok 'leaves it too' everywhere no_waiters
exits 'a non-blocking caller is told that it is busy' 75 run --kind fair -n a -- touch "$work/ran"
until_true everywhere no_waiters
ok 'and is in no line' everywhere no_waiters
ok 'none of them ran' test ! -e "$work/ran"
vacate a
exits 'acquire knows the kind' 0 acquire --kind fair --ttl 30s a
owner=$(sed -n 's/^owner //p' <<<"$out")
exits 'a fair lock keeps ordinary callers out' 75 run -n a -- true
exits 'and fair ones' 75 run -n --kind fair a -- true
exits 'its owner value is as good as any' 0 release a --owner-token "$owner"

done_testing

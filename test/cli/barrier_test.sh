#!/usr/bin/env bash
# redlock barrier: K go on together, nobody before all have come, and whoever gives up or dies is not counted for ever.
# shellcheck disable=SC2016,SC2317 # single quotes are for other shells; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
waiting() { [ "$(node 1 HLEN redlock-mark:barrier:meet)" -ge "$1" ]; }
through=$work/through
: >"$through"
party() {
    "$REDLOCK" barrier meet --parties 3 --ttl 2s </dev/null >>"$work/out" 2>>"$work/party.err" && echo went >>"$through"
}
party &
first=$!
party &
second=$!
started_pids+=("$first" "$second")
ok 'two of three wait' until_true grep -q '2 of 3 have come' "$work/party.err"
is 'and do not go on' "$(wc -l <"$through")" 0
exits 'the third goes on' 0 barrier meet --parties 3 --ttl 2s
went() { [ "$(wc -l <"$through")" = "$1" ]; }
ok 'and the others with it' until_true went 2
wait "$first" "$second"
exits 'the next meeting begins anew' 75 barrier meet --parties 3 -w 0.3s
says 'with one' '1 of 3 parties have come'
exits 'and its code can be chosen' 9 barrier meet --parties 3 -w 0.1s -E 9
exits 'one alone need not wait' 0 barrier alone --parties 1
exits 'as JSON' 0 barrier alone --parties 1 --json
ok 'in an object' has "$out" '"parties":1'

# ---- signals and deaths
nobody() { [ "$(node 1 HKEYS redlock-mark:barrier:meet | grep -cE '^[0-9a-f]{16}$')" = 0 ]; }
start barrier meet --parties 2
until_true waiting 1
until_true grep -q '1 of 2 have come' "$work/err"
kill -TERM "$started"
finish
is 'a signal ends it' "$code" 143
ok 'and it is not counted any more' until_true nobody
start barrier meet --parties 2 --ttl 1s
until_true grep -q '1 of 2 have come' "$work/err"
kill -KILL "$started"
finish
alone() {
    "$REDLOCK" barrier meet --parties 2 --ttl 1s -w 0.2s 2>&1 | grep -q '1 of 2 parties have come'
}
ok 'one that was killed counts until its lease has ended, and no longer' until_true alone
start barrier meet --parties 2 --ttl 5s
until_true grep -q '1 of 2 have come' "$work/err"
kill_nodes 1 2
exits 'it goes on with a minority of nodes away' 0 barrier meet --parties 2 --ttl 5s
finish
is 'so does the other' "$code" 0
kill_nodes 3
exits 'without a quorum nobody does' 69 barrier meet --parties 1 -w 0.5s

# ---- what is refused
exits 'the parties have to be said' 64 barrier meet
says 'which is said' 'redlock barrier meet --parties 3'
for parties in 0 501 x -1; do
    exits "$parties parties are refused" 64 barrier meet --parties "$parties"
done
exits 'a lease of nothing is refused' 64 barrier meet --parties 2 --ttl 0.1s
exits 'a name is needed' 64 barrier --parties 2
exits 'of those that are not reserved' 64 barrier redlock-mark:x --parties 2
done_testing

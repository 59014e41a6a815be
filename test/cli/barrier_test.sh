#!/usr/bin/env bash
# redlock barrier: K go on together, nobody before all have come, and whoever gives up or dies is not counted for ever.
# shellcheck disable=SC2016,SC2317 # single quotes are for other shells; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
# parties NODE NAME: how many are written down there.
parties() { node "$1" HKEYS "redlock-mark:barrier:$2" | grep -cE '^[0-9a-f]{24}$'; }
through=$work/through
: >"$through"
party() {
    "$REDLOCK" barrier meet --parties 3 --ttl 30s </dev/null >>"$work/out" 2>>"$work/party.err" && echo went >>"$through"
}
party &
first=$!
party &
second=$!
started_pids+=("$first" "$second")
ok 'two of three wait' until_true grep -q '2 of 3 have come' "$work/party.err"
is 'and do not go on' "$(wc -l <"$through")" 0
exits 'the third goes on' 0 barrier meet --parties 3 --ttl 30s
went() { [ "$(wc -l <"$through")" = "$1" ]; }
ok 'and the others with it' until_true went 2
wait "$first" "$second"
exits 'the next meeting begins anew' 75 barrier meet --parties 3 -w 0.3s
says 'with one' '1 of 3 parties have come'
exits 'and its code can be chosen' 9 barrier meet --parties 3 -w 0.1s -E 9
exits 'one alone need not wait' 0 barrier alone --parties 1
printf 'nodes = %s\nmax_ttl = 3s\n' "$REDLOCK_NODES" >"$work/brief.conf"
exits 'nor where locks are short' 0 barrier brief --parties 1 -w 20s --config "$work/brief.conf"
exits 'as JSON' 0 barrier alone --parties 1 --json
ok 'in an object' has "$out" '"parties":1'

# ---- stopped for longer than its lease: what it said last may still count, so it must not come anew beside itself
lease_is_over() {
    local number
    for number in 1 2 3 4 5; do
        [ "$(node "$number" EVAL "return tonumber(string.match(redis.call('HVALS', KEYS[1])[1], '^%d+')) < redis.call('TIME')[1] * 1000 and 1 or 0" \
            1 redlock-mark:barrier:stopped)" = 1 ] || return 1
    done
}
start barrier stopped --parties 2 --ttl 1s
ok 'one waits' until_true grep -q '1 of 2 have come' "$work/err"
kill -STOP "$started"
for number in 1 2 3 4 5; do node "$number" HDEL redlock-mark:barrier:stopped @ >/dev/null; done
until_true lease_is_over
exits 'one that was stopped for longer than its lease does not count any more' 75 barrier stopped --parties 2 -w 0.1s
says 'for the next one' '1 of 2 parties have come'
kill -CONT "$started"
finish
is 'and is told so' "$code" 79
ok 'in words' grep -q 'nodes have lost this party' "$work/err"

# ---- another number of parties
start barrier meet --parties 2
until_true grep -q '1 of 2 have come' "$work/err"
exits 'another number of parties is refused' 64 barrier meet --parties 3
says 'and both are named' 'this party waits for 3 parties, and others wait for 2'
exits 'the same one goes on' 0 barrier meet --parties 2
finish
is 'with the first' "$code" 0

# ---- rights
for number in 1 2 3 4 5; do node "$number" ACL SETUSER default -hgetall >/dev/null; done
exits 'without a right it does not wait' 77 barrier meet --parties 2
says 'the node says so' 'its user needs ~redlock-mark:barrier:* +eval'
for number in 1 2 3 4 5; do node "$number" ACL SETUSER default +hgetall resetkeys '~redlock-mark:*' >/dev/null; done
exits 'nor without the right to open it' 77 barrier meet --parties 1
says 'and that is said' 'the lock that opens it'
for number in 1 2 3 4 5; do node "$number" ACL SETUSER default '~*' >/dev/null; done

# ---- nodes that may not vote
for number in 1 2 3 4 5; do node "$number" FLUSHALL >/dev/null; done
start barrier quarantined --parties 1
ok 'where nodes may not vote it says so' until_true grep -q 'all have come, but [0-2] of 5 nodes may vote, and it takes 3 to open it' "$work/err"
kill -TERM "$started"
finish
is 'and can be ended' "$code" 143
"$REDLOCK" init --yes -q

# ---- signals and deaths
nobody() { [ "$(parties 1 meet)" = 0 ]; }
start barrier meet --parties 2
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

#!/usr/bin/env bash
# redlock status: its first line says how many more nodes may fail, --check says so to scripts; looking starts nothing; each node
# is listed once, with version and clock; a lock's TTL, fence and last renewal are told.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

first_line() { head -n 1 "$work/out"; }
# listed: how often nodes are listed in all that was said.
listed() { cat "$work/out" "$work/err" | grep -cE '^ +node +[1-5] '; }

# ---- looking starts nothing
exits 'status without nodes has nothing to look at' 69 status
says 'and says so' 'no nodes are configured, and no local nodes run'
ok 'what to do' has "$err" 'REDLOCK_NODES'
ok 'and where' has "$err" "into $XDG_CONFIG_HOME/redlock/redlock.conf"
ok 'and starts nothing' test ! -e "$REDLOCK_LOCAL_DIR"
exits 'nor does --check' 69 status --check
exits 'nor a look at a name' 69 status a
ok 'start anything' test ! -e "$REDLOCK_LOCAL_DIR"

# ---- the first line
start_new_nodes
exits 'new nodes answer' 0 status
is 'but no lock can be had' "$(first_line)" '5 nodes, 3 needed, 0 eligible: no lock can be had'
exits '--check fails' 69 status --check
is 'with this line alone' "$out$err" '5 nodes, 3 needed, 0 eligible: no lock can be had'
admit
exits 'nodes that vote' 0 status
is 'may fail' "$(first_line)" '5 nodes, 3 needed, 5 eligible: two more may fail'
is 'all are listed once' "$(listed)" 5
version=$(node 1 INFO server | tr -d '\r' | sed -nE 's/^(redis|valkey)_version:(.*)/\1 \2/p' | tail -n 1)
is 'with version and clock' "$(grep -cE " ${version//./\\.}  clock [+-][0-9.]+ms" "$work/out")" 5
exits '--check succeeds' 0 status --check
exits '--check takes no name' 64 status --check a
exits '--json has the same' 0 status --json
ok 'in words' has "$out" '"summary":"5 nodes, 3 needed, 5 eligible: two more may fail"'
ok 'in numbers' matches "$out" '"quorum":3,"eligible":5'
ok 'for each node' matches "$out" '"version":"[0-9.]+","server":"(redis|valkey)","clock_offset_us":-?[0-9]+'
kill_nodes 1
exits 'one fewer' 0 status --check
is 'leaves one more' "$out" '5 nodes, 3 needed, 4 eligible: one more may fail'
kill_nodes 2
exits 'two fewer' 1 status --check
is 'leave none' "$out" '5 nodes, 3 needed, 3 eligible: none may fail'
exits 'which is no failure of status itself' 0 status
exits '--check --json says so' 1 status --check --json
ok 'in numbers' matches "$out" '"nodes":5,"quorum":3,"eligible":3,"exit_code":1'
kill_nodes 3
exits 'three fewer' 69 status --check
is 'are too many' "$out" '5 nodes, 3 needed, 2 eligible: no lock can be had'
exits 'status fails too' 69 status
is 'and still lists each node once' "$(listed)" 5
REDLOCK_NODES=unix://$work/n4.sock exits 'a single node' 1 status -q --check
is 'is one' "$out" '1 node, 1 needed, 1 eligible: none may fail'
restart_nodes 1 2 3

# ---- a lock
start run --status-fd 3 --ttl 30s --renew 1s held -- sleep 60
until_true has_event acquired
has_copies() { "$REDLOCK" status held | grep -q 'granted by 5 of 5'; } # late nodes get it a moment later
until_true has_copies
exits 'a lock' 0 status held
is 'is said first' "$(first_line | sed -E 's/ [(].*//')" "held is held by $(hostname | cut -c1-64)"
ok 'with its TTL, when it was taken and what is left' matches "$out" '  lease   TTL 30s, (taken|renewed) [0-9ms]+ ago, [0-9ms]+ left, granted by 5 of 5'
is 'with its fence' "$(sed -n 's/^  fence   //p' "$work/out")" "$(event acquired fence)"
ok 'and the fleet' has "$out" '  fleet   5 nodes, 3 needed, 5 eligible: two more may fail'
is_renewed() { [ -n "$(event renewed validity_ms)" ] || has_event renewed; }
until_true is_renewed
was_renewed() { "$REDLOCK" status held | grep -qE 'TTL 30s, renewed [0-9ms]+ ago'; }
ok 'after a renewal it is said to be renewed' until_true was_renewed
exits 'a second caller' 75 run -n held -- true
ok 'is told the same' matches "$err" '  lease   TTL 30s, (taken|renewed) [0-9ms]+ ago, [0-9ms]+ left, granted by 5 of 5'
kill "$started"
finish
exits 'a free name' 0 status never
is 'is said to be that first' "$(first_line)" 'never is free'
done_testing

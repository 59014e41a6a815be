#!/usr/bin/env bash
# --also: several names as one lock, for people and scripts.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# held_by NAME: the id of the owner that a node has, if any.
held_by() { node 1 GETRANGE "$1" 0 7; }
# value KEY: of the lease that acquire printed.
value() { sed -n "s/^$1 //p" <<<"$out"; }
free() { [ -z "$(held_by "$1")" ]; }

exits 'a command runs under all of them' 0 run b --also a --also c -- sh -c 'echo "$REDLOCK_NAME: $REDLOCK_HELD"'
is 'which it is told' "$out" 'b: b a c'
for name in a b c; do ok "and $name is free again" until_true free "$name"; done

exits 'a script takes them' 0 acquire a --also 'b b' --ttl 60s
owner=$(value owner)
is 'and is told so' "$(sed -n 's/^also //p' <<<"$out")" 'b b'
is 'one owner has both' "$(held_by a)$(held_by 'b b')" "${owner:0:8}${owner:0:8}"
exits 'one of them is not to be had' 75 run -n 'b b' -- true
says 'for it is held' 'b b is busy'
exits 'nor together with others' 75 run -n x --also 'b b' -- true
says 'and the one in the way is named' 'b b is busy'
ok 'nothing is left of the other' free x
exits 'they are extended' 0 extend --json a --also 'b b' --owner-token "$owner" --ttl 50s
ok 'as JSON says' has "$out" '"also":["b b"]'
exits 'not with a name that is not of it' 79 extend a --also other --owner-token "$owner" --ttl 50s
exits 'they are released' 0 release a --also 'b b' --owner-token "$owner"
ok 'both of them' free a
ok 'both of them' free 'b b'
exits 'once' 79 release a --also 'b b' --owner-token "$owner"

# It waits for the one in the way, and holds nothing meanwhile.
exits 'somebody has one' 0 acquire two --ttl 60s
owner=$(value owner)
"$REDLOCK" run one --also two -- touch "$work/ran" </dev/null >/dev/null 2>"$work/waiter.err" &
started_pids+=("$!")
says_waiting() { grep -q 'two is held by .*waiting' "$work/waiter.err"; }
ok 'a waiter says which one it waits for' until_true says_waiting
exits 'the other is free meanwhile' 0 run -n one -- true
exits 'the one is released' 0 release two --owner-token "$owner"
ok 'and it runs' until_true test -e "$work/ran"

# Lost together.
"$REDLOCK" run one --also two --ttl 3s -- sleep 60 </dev/null >/dev/null 2>"$work/loser.err" &
loser=$!
started_pids+=("$loser")
is_held() { ! free two && ! free one; }
ok 'both are held' until_true is_held
id=$(held_by two)
exits 'an operator breaks one' 0 break two --id "$id" --yes --grace 30s
wait "$loser"
is 'CMD is stopped' "$?" 79
ok 'and told which' grep -q 'broken it: two' "$work/loser.err"
ok 'the other is free' until_true free one

exits 'inside itself' 64 run in --also side -- "$REDLOCK" run other --also side -- true
says 'is refused' 'side is held by a redlock run above this one'
done_testing

#!/usr/bin/env bash
# Shared locks from the command: who is let in beside whom, what status, list and busy reports say of those who share a lock, and a lease of a script.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_node 1
start_node 2
start_node 3
for n in 1 2 3; do until_true is_up "$n"; done
export REDLOCK_NODES=unix://$work/n1.sock,unix://$work/n2.sock,unix://$work/n3.sock
"$REDLOCK" init -y >/dev/null 2>&1
gone() { [ "$(node 1 EXISTS "$1")" = 0 ]; }

# ---- who is let in
exits 'a shared lock is acquired' 0 acquire -s --ttl 60s book
first=$(sed -n 's/^owner //p' <<<"$out")
exits 'another one beside it' 0 acquire --shared --ttl 60s book
second=$(sed -n 's/^owner //p' <<<"$out")
exits 'and a third for a moment' 0 run -n -s book -- true
exits 'a writer is refused' 75 run -n book -- true
ok 'and told that it is shared' has "$err" 'by 2; this is one of them'
exits 'in JSON, too' 75 run -n --json book -- true
ok 'with its kind' matches "$out$err" '"kind": ?"shared"'

# ---- what is told of it
exits 'status knows it' 0 status book
ok 'how many share it' has "$out" 'held by 2 that share it'
is 'and names them' "$(grep -c '^  shared  by' <<<"$out")" 2
exits 'status as JSON' 0 status --json book
ok 'has the count' matches "$out" '"sharer_count": ?2'
exits 'list has it' 0 list
ok 'as shared' has "$out" ', shared'

# ---- leases of scripts
exits 'one of them is prolonged' 0 extend -s --owner-token "$first" --ttl 60s book
exits 'not as a lock that is held alone' 79 extend --owner-token "$first" --ttl 60s book
exits 'which changes nothing' 0 extend -s --owner-token "$first" --ttl 60s book
exits 'break ends the one that is named' 0 break -y --now --id "$second" book
exits 'and not the other' 0 extend -s --owner-token "$first" --ttl 60s book
exits 'a release says that it is shared' 0 release -s --owner-token "$first" book
ok 'and nothing is left' gone book
exits 'a writer gets in' 0 run -n book -- true

# ---- a writer keeps readers out, and what does not go together is refused
exits 'a writer' 0 acquire --ttl 60s book
writer=$(sed -n 's/^owner //p' <<<"$out")
exits 'keeps a reader out' 75 run -n -s book -- true
exits 'until it gives the lock back' 0 release --owner-token "$writer" book
exits 'a shared fair lock' 64 run --kind fair -s book -- true
for other in -x -e '--kind exclusive'; do
    # shellcheck disable=SC2086
    exits "shared and $other" 64 run -s $other book -- true
    says 'exclude each other' '--shared and --'
done
"$REDLOCK" acquire -s --ttl 60s book >/dev/full 2>"$work/err"
is 'a lease that cannot be printed' "$?" 71
ok 'is given back' gone book

# ---- break, of one among many
for number in {1..19}; do
    "$REDLOCK" acquire -s --ttl 60s --why "reader $number." --json crowd >>"$work/crowd" 2>/dev/null
done
id_of() { json 'this["owner"][0:8]' <"$work/crowd" | sed -n "$1p"; }
is 'nineteen share it' "$(wc -l <"$work/crowd")" 19
exits 'of whom sixteen are named' 0 status --json crowd
named=$(json '"\n".join(one["id"] for one in this["sharers"])' <<<"$out")
is 'indeed' "$(wc -l <<<"$named")" 16
for number in {1..19}; do
    id=$(id_of "$number")
    has "$named" "$id" && seen=$number || unseen=$id
done
for number in "$seen" "$((seen - 1))"; do
    has "$named" "$(id_of "$number")" || continue
    talk "$REDLOCK" break --id "$(id_of "$number")" crowd THEN '?[y/N]' '!n\n'
    ok 'who asks is shown the one that is hit' has "$out" "reader $number."
done
talk "$REDLOCK" break --id "$unseen" crowd THEN '?[y/N]' '!n\n'
ok 'one that is not named is not refused' has "$out" 'crowd is shared by 19'
exits 'it can be broken' 0 break -y --grace 500ms --id "$unseen" crowd
says 'and is waited for' "crowd is not held by $unseen any more"
exits 'until it is gone' 0 status --json crowd
is 'alone' "$(json 'this["sharer_count"]' <<<"$out")" 18
done_testing

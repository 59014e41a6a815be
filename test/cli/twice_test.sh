#!/usr/bin/env bash
# One server under two URLs: refused when the lock could not be had without its second vote, and said, without a vote, when
# the second URL comes to life only after that.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

warned() {
    grep -q 'is the same server as node 1 .*: name each node once' "$work/err"
}

start_nodes
ln -s "$work/n1.sock" "$work/again.sock"
# No two nodes more are there: only the second URL could make it a quorum, whichever of the two is greeted first, and however late.
printf '%s\n' 'connect_timeout = 60s' 'node_timeout = 60s' >"$work/patient.conf"
REDLOCK_NODES="$(printf 'unix://%s ' "$work"/{n1,n2,none3,none4,again}.sock)"
exits 'one server under two URLs is refused' 78 run --config "$work/patient.conf" a -- touch "$work/ran"
says 'and named' 'is the same server as'
ok 'and nothing ran' test ! -e "$work/ran"
rm "$work/again.sock"
REDLOCK_NODES="$(printf 'unix://%s ' "$work"/{n1,n2,n3,n4,again}.sock)"
for mode in --plain ''; do
    # shellcheck disable=SC2086
    start run $mode --status-fd 3 --renew 200ms a -- sleep 60
    until_true has_event renewed
    ln -s "$work/n1.sock" "$work/again.sock"
    ok "the second URL is warned of when it comes after the lock ${mode:-(guarded)}" until_true warned
    kill -TERM "$started"
    finish
    is 'once' "$(grep -c 'same server' <<<"$err")" 1
    ok 'and never counted' lacks "$(<"$work/events")" '"granted":5'
    rm "$work/again.sock"
done

done_testing

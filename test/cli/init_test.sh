#!/usr/bin/env bash
# redlock init on fleets of which a part does not answer: it names each of them, admits a quorum or nobody, and its exit code says which.
# shellcheck disable=SC2016,SC2317 # single quotes are for another shell; checks are called by name
. "$(dirname "$0")/lib.sh"

eligible() { "$REDLOCK" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["eligible"])'; }
record() { node "$1" GET redlock-guard:epoch; }

# ---- a quorum: it is admitted, and who is left out is named
start_new_nodes
kill_nodes 4
freeze_nodes 5
exits 'three of five that answer are enough' 0 init --yes
says 'which is said' '3 of 5 nodes may vote'
ok 'the one that is down is named' matches "$err" 'node 4 [^ ]*n4.sock was not admitted: '
ok 'and the one that is frozen' matches "$err" 'node 5 [^ ]*n5.sock was not admitted: '
ok 'with what is left to do' has "$err" 'redlock init'
exits 'locks can be had' 0 run -n a -- true
exits 'in JSON' 0 init --yes --json
ok 'each node says how it is' matches "$out" '"admitted":3,.*n4.sock","verdict":"failed".*n5.sock","verdict":"(failed|silent)"'
thaw_nodes 5

# ---- a person is told before it says yes
talk sh -c '"$0" init; echo code-$?' "$REDLOCK" THEN '?node 4' '?locks on it are not seen' '?[y/N]' '!n\n' '?code-1'
is 'who does not answer is named before the question' "$code" 0

# ---- too few: nobody is admitted
kill_nodes 1 2 3 5
rm -f "$work"/n*.sock
for number in 1 2; do start_node "$number"; done
for number in 1 2; do until_true is_up "$number"; done
exits 'two of five are too few' 69 init --yes
says 'which is said' 'no quorum: 2 of 5 nodes answered, 3 are needed'
ok 'each that does not answer is named' matches "$err" $'node    3 [^\n]*\n  node    4 [^\n]*\n  node    5 '
says 'and nobody was admitted' 'no node was admitted'
is 'nor may one vote' "$(eligible)" 0
for number in 3 4 5; do start_node "$number"; done
for number in 3 4 5; do until_true is_up "$number"; done
for number in 3 4 5; do
    node "$number" CONFIG SET maxmemory 100mb >/dev/null
    node "$number" CONFIG SET maxmemory-policy allkeys-lru >/dev/null
done
exits 'nodes that must not vote do not count' 69 init --yes
says 'and say why' 'evict'
is 'nobody was admitted' "$(eligible)" 0
for number in 3 4 5; do
    node "$number" CONFIG SET maxmemory 0 >/dev/null
done
exits 'once they may' 0 init --yes
says 'all of them do' '5 of 5 nodes may vote'
done_testing

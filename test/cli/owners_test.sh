#!/usr/bin/env bash
# Nodes that do not have the same owner: what status, the busy report and those who wait say of it. Who holds a lock is the
# owner that a quorum of all nodes has; keys of others count for nobody.
. "$(dirname "$0")/lib.sh"

start_nodes

# plant NAME OWNER...: each node in turn gets this owner's key, for ten minutes; "-" leaves it free.
plant() {
    local name=$1 number=0 owner
    shift
    for owner; do
        number=$((number + 1))
        [ "$owner" = - ] || node "$number" SET "$name" "$owner" PX 600000 >/dev/null
    done
}
# days NUMBER: in milliseconds, and half an hour more.
days() {
    echo "$((86400000 * $1 + 1800000))"
}
# shows NAME TEXT: the last redlock's stdout has the text.
shows() {
    ok "$1" has "$out" "$2"
}
# json TEXT EXPRESSION: evaluates a Python expression on a JSON text, j.
json() {
    python3 -c 'import json, sys; j = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$1" "$2" 2>&1 | tail -n 1
}
# holders: whose key each node has, as the last status printed it; "-" where it is free.
holders() {
    sed -nE 's/^  node [1-5]  .* by (.*)$/\1/p; s/^  node [1-5]  .* free .*/-/p' <<<"$out" | paste -sd' '
}

# ---- five owners
plant five owner1-a owner2-b owner3-c owner4-d owner5-e
exits 'five owners on five nodes: status succeeds' 0 status five
is 'and says that nobody holds it' "$(head -n 1 <<<"$out")" 'five is held by nobody at the moment: its votes are split'
ok 'nobody was granted it' lacks "$out" 'granted by'
is 'all five are told' "$(grep -c '^  owner   owner[1-5]-[a-e], on node [1-5], [0-9]*m[0-9]*s left$' <<<"$out")" 5
ok 'and until when they are in the way' matches "$out" '  free    when those keys expire, in (9m|10m)[0-9]+s at the latest'
is 'each node says whose key it has' "$(holders)" 'owner1-a owner2-b owner3-c owner4-d owner5-e'
exits 'in JSON' 0 status five --json
is 'nobody is the holder' "$(json "$out" 'j["holder"], j["ttl_left_ms"], j["granted_by"]')" '(None, None, 0)'
is 'the votes are split' "$(json "$out" 'j["state"]')" split
is 'keys are on all nodes all the same' "$(json "$out" 'j["held_on"]')" 5
is 'each of an owner' "$(json "$out" '[(o["id"], o["nodes"]) for o in j["owners"]] == [(f"owner{i}-" + "abcde"[i - 1], [i]) for i in range(1, 6)]')" True
is 'as each node has it' "$(json "$out" '" ".join(n["id"] for n in j["nodes"])')" 'owner1-a owner2-b owner3-c owner4-d owner5-e'
is 'with the time it takes' "$(json "$out" '500000 < j["free_in_ms"] <= 600000 and j["owners"][4]["ttl_left_ms"] <= 600000')" True
exits 'it is busy for others' 75 run -n five -- touch "$work/ran"
says 'who are told the same' '  holder  nobody at the moment: its votes are split'
says 'with the owners' '  owner   owner3-c, on node 3, '
says 'the time' '  free    when those keys expire, in '
says 'and where to see more' '  see     redlock status five'
ok 'but not of a lease' lacks "$err" '  lease '
exits 'acquire says it too' 75 acquire -n --ttl 5s five
says 'in the same words' 'nobody at the moment: its votes are split'
exits 'as JSON' 75 run -n --json five -- true
is 'the error has the same truth' "$(json "$err" 'j["state"], j.get("holder"), len(j["owners"]), j["nodes"][1]["id"]')" \
    "('split', None, 5, 'owner2-b')"
exits '-q says it in one line' 75 run -qn five -- true
is 'and no more' "$err" 'redlock: five is busy'
exits 'a waiter is told too' 75 run -w 2s five -- true
ok 'that nobody holds it' matches "$err" 'redlock: five is held by nobody at the moment: its votes are split, free when those keys expire, in [0-9]+m[0-9]+s at the latest, 1st in line; waiting'
ok 'and nothing ran' test ! -e "$work/ran"
is 'nothing of it was touched' "$(node 4 GET five)" owner4-d

# ---- bytes that nobody can read
for number in 1 2 3 4 5; do
    printf 'a\0b\001\033[31m\377z|host=h\0\a|why=\0x' | redis-cli -s "$work/n$number.sock" -x SET bytes >/dev/null
    node "$number" PEXPIRE bytes 600000 >/dev/null
done
exits 'an owner value of any bytes: status' 0 status bytes
ok 'prints none of those that do harm' equals "$(LC_ALL=C tr -d '\n[:print:]' <"$work/out" | wc -c)" 0
exits 'in JSON' 0 status bytes --json
is 'it is one owner, under one printable id' "$(json "$out" 'len({n["id"] for n in j["nodes"]} | {j["holder"]["id"]}), j["holder"]["id"].isprintable(), j["holder"]["id"][:4]')" "(1, True, 'a?b?')"
exits 'and one that finds it busy' 75 run -n --json bytes -- true
is 'is told the same' "$(json "$err" 'j["holder"]["id"].isprintable(), j["holder"]["id"][:4]')" "(True, 'a?b?')"
vacate bytes

# ---- two, two and one
plant split 'aaaa1111|host=web-1|pid=11|user=ann' 'bbbb2222|host=web-2|pid=22|user=bob' \
    'aaaa1111|host=web-1|pid=11|user=ann' 'bbbb2222|host=web-2|pid=22|user=bob' cccc3333
exits 'two nodes each and one: status' 0 status split
shows 'nobody holds it' 'split is held by nobody at the moment'
shows 'the first has two' '  owner   web-1 (pid 11, user ann), id aaaa1111, on nodes 1 and 3, '
shows 'so has the second' '  owner   web-2 (pid 22, user bob), id bbbb2222, on nodes 2 and 4, '
shows 'the third has one' '  owner   cccc3333, on node 5, '
node 5 DEL split >/dev/null
exits 'and when one is free' 0 status split
shows 'nobody holds it either' 'split is held by nobody at the moment'
is 'as each node says' "$(holders)" 'aaaa1111 bbbb2222 aaaa1111 bbbb2222 -'

# ---- three and two
plant three 'somebody|host=web-3|pid=4242|user=deploy|why=pg_dump prod' 'somebody|host=web-3|pid=4242|user=deploy|why=pg_dump prod' \
    another1 'somebody|host=web-3|pid=4242|user=deploy|why=pg_dump prod' another1
exits 'three and two: status' 0 status three
shows 'the three are a quorum' 'three is held by web-3 (pid 4242, user deploy, "pg_dump prod")'
shows 'its nodes are counted, no others' 'left, granted by 3 of 5'
shows 'the others are told' '  also    another1, on nodes 3 and 5, '
is 'each node says whose' "$(holders)" 'somebody somebody another1 somebody another1'
exits 'in JSON' 0 status three --json
is 'the same' "$(json "$out" 'j["state"], j["holder"]["id"], j["granted_by"], j["held_on"], [o["nodes"] for o in j["owners"]]')" \
    "('held', 'somebody', 3, 5, [[1, 2, 4], [3, 5]])"
exits 'it is busy' 75 run -n three -- true
ok 'with this holder' matches "$err" '  holder  web-3 pid 4242 user deploy, why "pg_dump prod", id somebody'
says 'and its count' 'left, granted by 3 of 5'
exits 'as JSON' 75 run -n --json three -- true
is 'too' "$(json "$err" 'j["holder"]["id"], j["granted_by"]')" "('somebody', 3)"

# ---- a leftover beside a holder of our own
owner=$("$REDLOCK" acquire beside --ttl 50s --why 'the real one' | sed -n 's/^owner //p')
node 2 SET beside leftover PX "$(days 1)" >/dev/null
exits 'a leftover beside a holder' 0 status beside
ok 'the holder is the holder' matches "$out" 'beside is held by .*"the real one"'
shows 'on the other nodes' 'granted by 4 of 5'
shows 'the leftover is told' '  also    leftover, on node 2, 1d00h left'
is 'and seen where it is' "$(holders)" "${owner:0:8} leftover ${owner:0:8} ${owner:0:8} ${owner:0:8}"
"$REDLOCK" release beside --owner-token "$owner"
exits 'without the holder' 0 status beside
is 'the lock is free' "$(head -n 1 <<<"$out")" 'beside is free, but for 1 of 5 nodes'
shows 'of all but the leftover' '  owner   leftover, on node 2, '
exits 'in JSON too' 0 status beside --json
is 'it is free now' "$(json "$out" 'j["state"], j["holder"], j["free_in_ms"], j["held_on"]')" "('free', None, 0, 1)"
exits 'and can be had' 0 run -n beside -- true

# ---- keys that end at different times
for number in 1 2 3 4 5; do
    node "$number" SET times somebody PX "$(days "$number")" >/dev/null
done
exits 'a lock whose keys end at different times' 0 status times
shows 'lasts as long as a quorum has it' '  lease   3d00h left, granted by 5 of 5'
node 4 SET times other PX "$(days 9)" >/dev/null
node 5 PERSIST times >/dev/null
exits 'with fewer nodes' 0 status times
shows 'it ends sooner' '  lease   2d00h left, granted by 4 of 5'
exits 'the busy report' 75 run -n times -- true
says 'says the same' '  lease   2d00h left, granted by 4 of 5'
for number in 1 2 3 4; do
    node "$number" SET times "owner-$((number % 2))" PX "$(days "$number")" >/dev/null
done
exits 'split ones' 0 status times
shows 'tell each their times' '  owner   owner-1, on nodes 1 and 3, 1d00h to 3d00h left'
shows 'also those without an end' '  owner   somebody, on node 5, without an end'
shows 'and are out of the way when a quorum is free' '  free    when those keys expire, in 3d00h at the latest'
for number in 3 4; do
    node "$number" PERSIST times >/dev/null
done
exits 'when too many have no end' 0 status times
shows 'there is some time left of others' '  owner   owner-1, on nodes 1 and 3, 1d00h or more left'
shows 'but it ends not by itself' '  free    not by itself: keys that never expire are in the way'
exits 'in JSON' 0 status times --json
is 'no time is told' "$(json "$out" 'j["state"], j["free_in_ms"], j["owners"][0]["ttl_left_ms"]')" "('split', None, None)"

# ---- values of other programs
plant alike worker-pool-1 worker-pool-2 worker-pool-3 worker-pool-1 worker-pool-2
exits 'owners that begin alike' 0 status alike
shows 'are told apart' 'alike is held by nobody at the moment: its votes are split'
is 'each of them' "$(grep -c '^  owner   worker-p, ' <<<"$out")" 3
for number in 1 2 3 4 5; do
    printf 'SET odd "\\x1b[31m\\xff%d" PX 600000\nSET zero "\\x01\\x00%d" PX 600000\nSET empty "" PX 600000\n' "$number" "$number" |
        node "$number" >/dev/null
done
exits 'bytes that are no text' 0 status odd
shows 'do no harm' '  owner   ?[31m?1, on node 1, '
shows 'and are told apart' 'odd is held by nobody at the moment'
exits 'values that differ behind a NUL' 0 status zero
shows 'are told apart' 'zero is held by nobody at the moment'
exits 'an empty value' 0 status empty
shows 'holds a lock like any other' 'empty is held by somebody whose owner value is empty'
shows 'on all nodes' 'left, granted by 5 of 5'
exits 'it is busy' 75 run -n empty -- true
says 'for as long' 'left, granted by 5 of 5'

# ---- keys that are no locks
plant list owner1-a owner2-b owner2-b owner1-a -
node 5 RPUSH list x >/dev/null
exits 'a key of another type among them' 0 status list
shows 'is what there is to say' 'list holds something that is not a lock of this kind'
shows 'beside the owners' '  owner   owner2-b, on nodes 2 and 3, '
exits 'in JSON' 0 status list --json
is 'it is foreign' "$(json "$out" 'j["state"], j["holder"]')" "('foreign', None)"
exits 'it is busy' 75 run -n list -- true
says 'and why is told' 'something that is not a lock of this kind'
node 5 DEL three >/dev/null
node 5 RPUSH three x >/dev/null
exits 'one beside a holder' 0 status three
shows 'is in nobodys way' 'left, granted by 3 of 5'

# ---- nodes that are down
plant down somebody somebody - somebody another1
kill_nodes 4
exits 'a holder whose third node is down' 0 status down
is 'may hold it or not' "$(head -n 1 <<<"$out")" 'whether down is held is not known: 1 of 5 nodes gave no answer'
shows 'what is seen is told' '  owner   somebody, on nodes 1 and 2, '
ok 'and nothing is promised' lacks "$out" 'when those keys expire'
exits 'in JSON' 0 status down --json
is 'nobody is named' "$(json "$out" 'j["state"], j["holder"], j["granted_by"], j["free_in_ms"]')" "('unknown', None, 0, None)"
exits 'a quorum beside a node that is down' 0 status three
shows 'is none any more' 'whether three is held is not known'
exits 'it is busy' 75 run -n down -- true
says 'without a holder that is known' '  holder  not known: 1 of 5 nodes gave no answer'
says 'but with what is seen' '  owner   somebody, on nodes 1 and 2, '
exits 'five owners of which one is away' 0 status five
shows 'are split as before' 'five is held by nobody at the moment: its votes are split'
plant sure somebody somebody somebody - -
exits 'a quorum of those that are there' 0 status sure
shows 'holds it' 'sure is held by somebody'
shows 'by what is seen' 'granted by 3 of 5'
kill_nodes 1 5
exits 'too few nodes: status' 69 status down
shows 'tells what is seen' '  owner   somebody, on node 2, '
shows 'and no more' 'whether down is held is not known: 3 of 5 nodes gave no answer'
exits 'a lock that is seen nowhere' 69 status nowhere
ok 'is not called free' lacks "$out" 'nowhere is'

done_testing

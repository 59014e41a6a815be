#!/usr/bin/env bash
# What the kinds of lock refuse: numbers and names that make no sense, kinds that do not go together, another number of slots than others
# use, and another program's key. Each time a sentence, the documented exit code, CMD not run, and nothing left at the nodes.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# Keys of locks and lines at all nodes. What the guard remembers stays: epochs, fencing tokens, and where tickets were.
keys_left() {
    local number
    for number in 1 2 3 4 5; do
        node "$number" KEYS '*' | grep -Ev '^redlock-(guard|fence):|^redlock-line:.*:(order|state)$|^$'
    done | sort -u | paste -sd' '
}
no_keys() { [ "$(keys_left)" = "${1-}" ]; }

# refused NAME CODE TEXT ARGUMENT...: of run and of acquire, which have these options in common.
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    exits "$name" "$expected" run "$@" -- touch "$work/ran"
    says "$name: run says so" "$text"
    is "$name: in one sentence" "$(grep -c '^redlock: ' <<<"$err")" 1
    ok "$name: CMD does not run" test ! -e "$work/ran"
    exits "$name: acquire" "$expected" acquire --ttl 20s "$@"
    says "$name: acquire says so, too" "$text"
    is "$name: nothing on stdout" "$out" ''
}

# ---- 64: what makes no sense
refused 'no slots' 64 '--slots "0" is not a whole number from 1 on' pool --slots 0
refused 'less than none' 64 '--slots "-1" is not a whole number from 1 on' pool --slots=-1
refused 'a word' 64 '--slots "many" is not a whole number from 1 on' pool --slots many
refused 'ten thousand' 64 '--slots: at most 1000' pool --slots 10000
refused 'one above the limit' 64 '--slots: at most 1000' pool --slots 1001
refused 'readers of a semaphore' 64 '--slots and --shared exclude each other' pool --slots 2 --shared
refused 'a semaphore of two names' 64 '--also' pool --slots 2 --also other
refused 'several names that are shared' 64 '--also' pool --shared --also other
refused 'one name twice' 64 'twice' pool --also pool
refused 'a further name twice' 64 'twice' pool --also other --also other
hundred=()
for number in {1..99}; do
    hundred+=(--also "n$number")
done
refused 'a hundred names' 64 'at most 16 names' pool "${hundred[@]}"
refused 'an empty name' 64 'empty' pool --also ''
exits 'slots of a reentrant lock' 64 run --reentrant --slots 2 pool -- true
exits 'several names of one' 64 run --reentrant --also other pool -- true
exits 'a share of one' 64 run --reentrant --shared pool -- true
is 'nothing was asked of the nodes' "$(keys_left)" ''

# ---- 75: others use the name in another way
exits 'a semaphore of two' 0 acquire --ttl 60s --slots 2 pool
owner=$(sed -n 's/^owner //p' <<<"$out")
refused 'another number of slots' 75 'the name is in use for a semaphore of 2 slots, not for a semaphore of 3 slots' -n pool --slots 3
refused 'a lock of that name' 75 'in use for a semaphore of 2 slots' -n pool
refused 'a share of that name' 75 'in use for a semaphore of 2 slots' -n pool --shared
refused 'that name among others' 75 'in use for a semaphore of 2 slots' -n other --also pool

# ---- 79: the holder itself says another kind than it has
# misnamed NAME TEXT FIX ARGUMENT...: of extend and of release, which change nothing.
misnamed() {
    local name=$1 text=$2 fix=$3 command
    shift 3
    for command in extend release; do
        exits "$name: $command" 79 "$command" --owner-token "$owner" "$@"
        ok "$name: $command says what the owner has" matches "$err" "not held by this owner in this way: it $text"
        ok "$name: and what to do" matches "$err" $'\n'"  fix     $fix"
    done
}
misnamed 'a slot as a lock' 'has slot [01] of 2' 'add --slots 2' pool
misnamed 'a slot as a share' 'has slot [01] of 2' 'give --slots 2 instead of --shared' pool --shared
misnamed 'a slot of another number' 'has slot [01] of 2' 'give --slots 2' pool --slots 3
exits 'an owner that has no slot' 79 release --slots 2 --owner-token "0123$owner" pool
says 'is told so' 'pool: not held by this owner: none of the 2 slots is its own'
ok 'and of no other program' lacks "$err" 'another program'
exits 'its holder gives it back' 0 release --slots 2 --owner-token "$owner" pool
exits 'a share' 0 acquire --ttl 60s --shared pool
owner=$(sed -n 's/^owner //p' <<<"$out")
misnamed 'a share as a lock' 'shares it' 'add --shared' pool
misnamed 'a share as a slot' 'shares it' 'give --shared instead of --slots' pool --slots 2
exits 'its holder gives it back' 0 release --shared --owner-token "$owner" pool
exits 'a lock' 0 acquire --ttl 60s pool
owner=$(sed -n 's/^owner //p' <<<"$out")
misnamed 'a lock as a share' 'has it alone' 'leave out --shared' pool --shared
misnamed 'a lock as a slot' 'has it alone' 'leave out --slots' pool --slots 2
exits 'its holder gives it back' 0 release --owner-token "$owner" pool
ok 'and nothing is left of any of them' until_true no_keys

# ---- another program's key
for number in 1 2 3 4 5; do
    node "$number" RPUSH jobs one two >/dev/null
done
for kind in '' --shared '--slots 2' '--also other'; do
    # shellcheck disable=SC2086
    refused "a list under the name ${kind:-alone}" 75 'jobs' -n jobs $kind
done
ok 'which stays as it is, alone' until_true no_keys jobs
is 'with all that is in it' "$(node 3 LRANGE jobs 0 -1 | paste -sd' ')" 'one two'
done_testing

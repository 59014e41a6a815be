#!/usr/bin/env bash
# Semaphores by --slots: who comes in, who is refused and how, and the lease of a slot.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# hold WHO: runs redlock in the background, which says its slot and stays until it is told to go.
hold() {
    "$REDLOCK" run -q pool --slots 2 -- sh -c "echo \$REDLOCK_SLOT >'$work/$1'; until [ -e '$work/$1.go' ]; do sleep 0.05; done" \
        </dev/null >/dev/null 2>"$work/$1.err" &
    started_pids+=("$!")
}

inside() { [ -s "$work/$1" ]; }
in_line() { [ "$(node 1 ZCARD "redlock-line:{pool}:waiters")" = "$1" ]; }

# ---- two come in, the others wait
hold one
hold two
ok 'one is inside' until_true inside one
ok 'and two' until_true inside two
is 'each with a slot of its own' "$(sort "$work/one" "$work/two" | paste -sd' ')" '0 1'
exits 'a third one that does not wait is refused' 75 run pool --slots 2 -n -- true
ok 'as busy' has "$err" 'pool is busy'
ok 'with how many' has "$err" 'pool is busy: 2 of 2 slots held'
ok 'and who' matches "$err" $'\n  slot 1 .*, id [0-9a-f]+, [0-9]+s left, granted by [345] of 5'
everywhere() { [ "$("$REDLOCK" status pool | grep -c '^  slot .* granted by 5 of 5')" = 2 ]; }
ok 'both have theirs on all nodes soon' until_true everywhere
exits 'status tells of them' 0 status pool
ok 'how many' has "$out" 'pool: 2 of 2 slots held'
ok 'and each' matches "$out" $'\n  slot 0 .*granted by 5 of 5\n  slot 1 '
exits 'in JSON, too' 0 status pool --json
is 'all of them' "$(json '[this[key] for key in ("kind", "slots", "slots_held", "state", "holder")] + [[one["slot"] for one in this["holders"]]]' <<<"$out")" '["semaphore",2,2,"held",null,[0,1]]'
is 'and nobody of another name' "$(json '[this["owners"], this["granted_by"]]' <<<"$out")" '[[],0]'
hold three
ok 'one that waits stands in line' until_true in_line 1
ok 'and is not inside' test ! -s "$work/three"
touch "$work/one.go"
ok 'until one has gone' until_true inside three
is 'with the slot of that one' "$(<"$work/three")" "$(<"$work/one")"

# ---- what is refused
exits 'another number of slots is refused' 75 run pool --slots 3 -n -- true
ok 'by name' has "$err" 'pool: the name is in use for a semaphore of 2 slots, not for a semaphore of 3 slots'
exits 'so is a lock of that name' 75 run pool -n -- true
ok 'by name, too' has "$err" 'pool: the name is in use for a semaphore of 2 slots'
touch "$work/two.go" "$work/three.go"
wait "${started_pids[@]}"
exits 'a name that nobody has may have another number' 0 run pool --slots 3 -n -- true
occupy alone
exits 'a lock is no semaphore' 75 run alone --slots 2 -n -- true
ok 'and is named' has "$err" 'in use for an exclusive lock'
vacate alone
exits 'no slots at all' 64 run pool --slots 0 -- true
ok 'are refused' has "$err" '--slots "0" is not a whole number from 1 on'
exits 'ten thousand' 64 run pool --slots 10000 -- true
ok 'as well' has "$err" '--slots: at most 1000'
exits 'and readers of a semaphore' 64 run pool --slots 2 --shared -- true
ok 'there are none' has "$err" '--slots and --shared exclude each other'
exits 'plain nodes have no semaphores' 64 run pool --slots 2 --plain -- true
ok 'and say so' has "$err" 'plain nodes keep no line'

# ---- a lease
exits 'a slot is acquired' 0 acquire pool --slots 2 --ttl 20s
ok 'which is printed' matches "$out" $'\nslot [01]$'
owner=$(sed -n 's/^owner //p' <<<"$out")
exits 'and extended' 0 extend pool --slots 2 --ttl 30s --owner-token "$owner"
exits 'and released' 0 release pool --slots 2 --owner-token "$owner"
exits 'once' 79 release pool --slots 2 --owner-token "$owner"
exits 'JSON has the slot' 0 acquire pool --slots 1 --ttl 20s --json
is 'as a number' "$(json 'this["slot"]' <<<"$out")" 0
owner=$(json 'this["owner"]' <<<"$out")
exits 'which is given back' 0 release pool --slots 1 --owner-token "$owner"
exits 'no slot is told of where there is none' 0 run pool -- sh -c 'echo "[$REDLOCK_SLOT]"'
is 'in the environment either' "$out" '[]'
done_testing

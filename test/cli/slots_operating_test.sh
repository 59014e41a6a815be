#!/usr/bin/env bash
# Slots of a semaphore for an operator: list, watch, break and status, and what a waiter is told.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# hold WHO: a run that stays inside until it is told to go; its exit code comes to WHO.code. It renews every 5 s.
hold() {
    (
        "$REDLOCK" run pool --slots 2 --ttl 15s --why "job $1" -- \
            sh -c "echo \$REDLOCK_SLOT >'$work/$1'; until [ -e '$work/$1.go' ]; do sleep 0.05; done" </dev/null >/dev/null 2>"$work/$1.err"
        echo "$?" >"$work/$1.code"
    ) &
    started_pids+=("$!")
    until_true test -s "$work/$1"
}
lines_of() { grep -c "$1" <<<"$("$REDLOCK" list)"; }
both_listed() { [ "$(lines_of '^pool ')" = 2 ]; }
is_slot() { [ "$(lines_of "$1")" = 1 ]; }
id_of_slot() { "$REDLOCK" status pool --json | json "next((one['id'] for one in this['holders'] if one['slot'] == $1), '')"; }
slots_held() { [ "$("$REDLOCK" status pool --json | json 'this["slots_held"]')" = "$1" ]; }

# ---- what is seen
hold one
hold two
one=$(<"$work/one")
two=$(<"$work/two")
ok 'list has both slots' until_true both_listed
ok 'each with its holder' until_true is_slot "^pool .* 5/5 .*\"job one\", id [0-9a-f]*, slot $one of 2$"
ok 'and number' until_true is_slot "^pool .* 5/5 .*\"job two\", id [0-9a-f]*, slot $two of 2$"
exits 'in JSON' 0 list 'po*' --json
is 'as a semaphore' "$(json '[this["name"], this["kind"], this["slots"]]' <<<"$out" | sort -u)" '["pool","semaphore",2]'
is 'slot by slot' "$(json 'this["slot"]' <<<"$out" | sort | paste -sd' ')" '0 1'
is 'with who' "$(json '"%d %s" % (this["slot"], this["holder"]["why"])' <<<"$out" | sort | sed -n "$((one + 1))p")" "$one job one"
exits 'another name has none of that' 0 run single -- "$REDLOCK" list --json single
is 'it is exclusive' "$(json '[this["kind"], this.get("slot"), this.get("slots")]' <<<"$out")" '["exclusive",null,null]'
exits 'status' 0 status pool
ok 'says for how long each has its slot' matches "$out" $'\n  slot 0 .*"job (one|two)"\), for [0-9]+(ms|s|m[0-9]+s), id [0-9a-f]+, [0-9]+s left, granted by [345] of 5'
ok 'and how it is broken' has "$out" "  force   redlock break pool --id $(id_of_slot 0) # the holder of slot 0"
ok 'and names nobody else' lacks "$out" 'foreign'
exits 'as JSON' 0 status pool --json
is 'neither' "$(json '[this["holder"], *(one.get("id") for one in this["nodes"])]' <<<"$out")" '[null,null,null,null,null,null]'

# ---- watch
"$REDLOCK" watch pool >"$work/watch.one" 2>&1 </dev/null &
watch_one=$!
"$REDLOCK" watch >"$work/watch.all" 2>&1 </dev/null &
watch_all=$!
started_pids+=("$watch_one" "$watch_all")
# saw FILE EVENT SLOT [BEFORE]: such an event of the pool was printed; an EVENT of . is any. The last line may be unfinished.
saw() {
    grep '}$' "$work/watch.$1" | json '[this["event"], this["name"], this.get("slot"), (this.get("before") or {}).get("id")]' |
        grep -qE "^\[\"${2/#./[a-z_]+}\",\"pool\",$3,${4:+\"$4\"}"
}
for slot in 0 1; do
    ok "a watch of the name tells of slot $slot" until_true saw one held "$slot"
    ok "a watch of all tells of slot $slot" until_true saw all held "$slot"
done

# ---- a waiter
"$REDLOCK" run pool --slots 2 --status-fd 3 -- sh -c "echo \$REDLOCK_SLOT >'$work/three'; until [ -e '$work/three.go' ]; do sleep 0.05; done" \
    3>"$work/events" </dev/null >/dev/null 2>"$work/three.err" &
started_pids+=("$!")
ok 'a waiter is told that no slot is free' until_true grep -q 'pool: all 2 slots are held.*1st in line' "$work/three.err"
is 'a program, too' "$(grep '"event":"waiting"' "$work/events" | json '[this["holder"], this["slots"], this["place"]]')" '[null,2,1]'

# ---- break
victim=$(id_of_slot "$one")
other=$(id_of_slot "$two")
exits 'an id that has no slot' 79 break pool --id 00000000 --yes
says 'is not found' 'no slot of pool is held by 00000000: nothing was changed'
says 'and those who have them are named' "id $victim"
exits 'an id with the slot of another' 79 break pool --id "$victim" --slot "$two" --yes
says 'is not hit' "slot $two of pool is not held by $victim: nothing was changed"
exits 'a slot that there cannot be' 64 break pool --id "$victim" --slot 1000 --yes
says 'is refused' '--slot: from 0 to 999'
exits 'a slot that is no number' 64 break pool --id "$victim" --slot one --yes
talk "$REDLOCK" break pool --id "$victim" THEN '?[y/N]' '!n\n'
ok 'who asks is shown the slot that is hit' has "$out" "slot $one of pool is held by"
ok 'and its holder' has "$out" '"job one"'
talk "$REDLOCK" break pool --id 00000000 THEN
ok 'or that there is none' has "$out" 'no slot of pool is held by 00000000'
ok 'nothing was changed' slots_held 2
exits 'the holder of a slot is broken' 0 break pool --id "$victim" --slot "$one" --yes --grace 60s --json
is 'and has ended' "$(json '[this["name"], this["broken"], this["ended"], this["holder"]["id"]]' <<<"$out")" "[\"pool\",true,true,\"$victim\"]"
ok 'its command is stopped' until_true test -s "$work/one.code"
is 'as lost' "$(<"$work/one.code")" 79
ok 'and told why' grep -q 'broken' "$work/one.err"
ok 'the waiter has its slot' until_true test -s "$work/three"
is 'the same' "$(<"$work/three")" "$one"
is 'the other one keeps its own' "$(id_of_slot "$two")" "$other"
ok 'and its command runs on' test ! -e "$work/two.code"
ok 'the watch saw who had it' until_true saw one . "$one" "$victim"
ok 'the other watch, too' until_true saw all . "$one" "$victim"
exits 'a broken one is not there any more' 79 break pool --id "$victim" --yes
touch "$work/two.go" "$work/three.go"
ok 'the watch sees them go' until_true saw one released "$two" "$other"
ok 'both of them' until_true saw one released "$one"
ok 'the other one ends well' until_true test -s "$work/two.code"
is 'indeed' "$(<"$work/two.code")" 0
kill "$watch_one" "$watch_all"
wait "$watch_one" "$watch_all" 2>/dev/null

# ---- at once, and readers
exits 'a lease of a slot' 0 acquire pool --slots 2 --ttl 60s
victim=$(id_of_slot "$(sed -n 's/^slot //p' <<<"$out")")
exits 'is broken at once' 0 break pool --id "$victim" --now --yes
says 'and says so' "pool is not held by $victim any more"
exits 'its slot is free' 0 status pool
ok 'and nobody has any' matches "$out" '^pool(: 0 of 2 slots held| is free)'
exits 'so that others come in' 0 run pool --slots 2 -n -- true
exits 'a reader' 0 acquire --shared --ttl 60s book
reader=$("$REDLOCK" status book --json | json 'this["holder"]["id"]')
exits 'has no slot' 79 break book --id "$reader" --slot 0 --yes
says 'and is not hit' "slot 0 of book is not held by $reader: nothing was changed"
exits 'but can be broken' 0 break book --id "$reader" --now --yes
done_testing

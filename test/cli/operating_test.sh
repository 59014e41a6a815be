#!/usr/bin/env bash
# list, watch, wait and break: what an operator types, and what scripts rely on.
# shellcheck disable=SC2016,SC2317 # CMD's variables are CMD's; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
# hold NAME [OPTION...]: a redlock run that holds it, and says so in $work/held.NAME.
hold() {
    local name=$1
    shift
    "$REDLOCK" run "$name" "$@" -- sh -c "echo held >'$work/held.$name'; exec sleep 600" >"$work/run.$name" 2>&1 </dev/null &
    holder=$!
    started_pids+=("$holder")
    until_true test -s "$work/held.$name"
}
# id_of NAME: the id of its holder.
id_of() { "$REDLOCK" status "$1" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["holder"]["id"])'; }
# field PATH: of the last JSON line of stdin.
field() { python3 -c 'import json,sys
value = json.loads(sys.stdin.read().strip().splitlines()[-1])
for part in sys.argv[1].split("."): value = value[part]
print(value)' "$1"; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# ---- nothing is held
exits 'an empty fleet is listed' 0 list
says 'and said to be empty' 'no lock is held'
is 'in words, not on stdout' "$out" ''
exits 'waiting for what is free ends at once' 0 wait nobodys
is 'in silence' "$out$err" ''

# ---- list
hold nightly --why 'pg_dump prod'
hold weekly
nightly_id=$(id_of nightly)
exits 'locks are listed' 0 list
ok 'each' has "$out" 'weekly'
ok 'with its holder, why and id' has "$out" "\"pg_dump prod\", id $nightly_id"
is 'and a head' "$(head -n 1 "$work/out" | tr -s ' ')" 'NAME HELD LEFT ON WAIT FENCE HOLDER'
exits 'a glob chooses' 0 list 'night*'
ok 'those that match' has "$out" nightly
ok 'and no others' lacks "$out" weekly
exits 'one that matches nothing finds nothing' 0 list 'x*'
says 'and says so' 'no lock that is held matches x*'
exits 'an empty one is refused' 64 list ''
says 'by its name' 'needs a GLOB that is not empty'
exits 'as JSON' 0 list nightly --json
is 'it has the name' "$(field name <<<"$out")" nightly
is 'the holder' "$(field holder.id <<<"$out")" "$nightly_id"
is 'the votes' "$(field votes <<<"$out") of $(field nodes <<<"$out")" '5 of 5'
ok 'and the fence' test "$(field fence <<<"$out")" -gt 0
for number in 1 2 3 4 5; do
    node "$number" SET a-cache entry PX 600000 >/dev/null
done
exits 'what other programs made is left out' 0 list
ok 'unless' lacks "$out" a-cache
exits '--foreign is given' 0 list --foreign --json a-cache
is 'then it is marked' "$(field kind <<<"$out")" foreign
for number in 1 2 3 4 5; do
    node "$number" DEL a-cache >/dev/null
done

# ---- hostile names, on the terminal and in JSON
evil=$'\e[2J*[x]\r\xff'
hold "$evil" 2>/dev/null || true
printf -v owner '%032d' 7
for number in 1 2 3 4 5; do
    printf 'SET "\\x00\\x1b[31m\\xffevil" "%s" PX 600000\n' "$owner" | redis-cli -s "$work/n$number.sock" >/dev/null
done
exits 'hostile names are listed' 0 list
ok 'without what a terminal would obey' lacks "$out" $'\e'
exits 'and as JSON' 0 list --json
ok 'that can be read' python3 -c 'import json,sys; [json.loads(line) for line in open(sys.argv[1])]' "$work/out"
ok 'with all bytes of the name' has "$out" '"name_hex":"001b5b33316dff6576696c"'

# ---- wait
exits 'a held lock is waited for no longer than one wants' 75 wait nightly -w 100ms
says 'and its holder is named' "id $nightly_id"
says 'with the way to break it' "redlock break nightly --id $nightly_id"
exits 'not at all with -n' 75 wait nightly -n
exits 'with the exit code one wants' 3 wait nightly -n -E 3
"$REDLOCK" wait nightly --nodes redis://127.0.0.1:1 >"$work/blind" 2>&1 </dev/null &
blind=$!
started_pids+=("$blind")
ok 'a caller that cannot see whether it is free is told so' until_true grep -q 'cannot be seen' "$work/blind"
kill "$blind"
(
    unset REDLOCK_NODES REDLOCK_CONFIG
    export REDLOCK_LOCAL_DIR=$work/none
    "$REDLOCK" wait nightly >"$work/nowhere" 2>&1 </dev/null
    echo "$?" >"$work/nowhere.code"
)
is 'waiting starts no nodes where none are configured' "$(<"$work/nowhere.code")" 69
ok 'and leaves nothing behind' test ! -e "$work/none"

# ---- watch
"$REDLOCK" watch nightly >"$work/watch.one" 2>&1 </dev/null &
watch_one=$!
"$REDLOCK" watch >"$work/watch.all" 2>&1 </dev/null &
watch_all=$!
started_pids+=("$watch_one" "$watch_all")
ok 'watch tells what is held at first' until_true grep -q '"event":"held"' "$work/watch.one"
ok 'of all locks, too' until_true grep -q '"event":"held"' "$work/watch.all"
is 'as JSON lines where there is no terminal' "$(field name <"$work/watch.one")" nightly

# ---- break
exits 'break wants an id' 64 break nightly --yes
says 'and says where it is' 'redlock status nightly'
exits 'it does not act unasked' 64 break nightly --id "$nightly_id"
says 'but wants --yes' '--yes'
exits 'another id is not hit' 79 break nightly --id 00000000 --yes
says 'its holder is named' "id $nightly_id"
ok 'and lives' kill -0 "$holder"
exits 'nobody has a lock that is free' 79 break nobodys --id 00000000 --yes
hold victim --ttl 30s --renew 500ms
victim=$holder
victim_id=$(id_of victim)
fence=$("$REDLOCK" list victim --json | field fence)
"$REDLOCK" wait victim >"$work/waited" 2>&1 </dev/null &
waiter=$!
exits 'the holder is broken' 0 break victim --id "$victim_id" --yes
says 'which is said' "victim is not held by $victim_id any more"
wait "$waiter"
is 'a waiter is notified' "$?" 0
wait "$victim"
is 'its command was stopped' "$?" 79
ok 'and the holder knows why' has "$(<"$work/run.victim")" 'an operator has broken it'
exits 'the next one gets it' 0 run victim -n -- sh -c 'echo $REDLOCK_FENCE'
ok 'with a higher fence' test "$out" -gt "$fence"
exits 'acquire for a moment that nobody renews' 0 acquire stale --ttl 60s
stale_id=$(id_of stale)
exits 'which is busy for a minute' 75 run stale -n -- true
says 'with the way to break it' "force   redlock break stale --id $stale_id"
exits '--now does not wait for anybody' 0 break stale --id "$stale_id" --now --yes --json
is 'and says so' "$(field broken <<<"$out")" True
exits 'then it is free' 0 run stale -n -- true
exits 'a lock that nobody renews' 0 acquire quiet --ttl 60s
quiet_id=$(id_of quiet)
"$REDLOCK" break quiet --id "$quiet_id" --grace 50s --yes >"$work/breaking" 2>&1 </dev/null &
breaking=$!
is_said_to_be_broken() { "$REDLOCK" run quiet -n -- true 2>&1 | grep -q 'broken  by an operator'; }
ok 'is said to be broken to a caller that finds it busy meanwhile' until_true is_said_to_be_broken
exits 'what is broken can be broken at once' 0 break quiet --id "$quiet_id" --now --yes
wait "$breaking"
is 'which the first break hears of' "$?" 0
# paste NAME: the force line that a busy message has for it breaks it when it is pasted into a shell.
paste() {
    local line
    "$REDLOCK" acquire -q --ttl 60s -- "$1" >/dev/null
    line=$("$REDLOCK" run -n -- "$1" true 2>&1 | sed -n 's/^  force   //p')
    [ "$line" = "$("$REDLOCK" status -- "$1" | sed -n 's/^  force   //p')" ] || return 1
    PATH=$(dirname "$REDLOCK"):$PATH bash -c "${line/--id/--now --yes --id}" 2>/dev/null && "$REDLOCK" run -n -- "$1" true
}
for name in "it's" 'a *b $HOME' $'\e[2J\xff\'x\\' -odd ümlaut '#'; do
    ok "what is printed for $(printf %q "$name") can be pasted" paste "$name"
done
exits 'a lock of somebody who asks again' 0 acquire asks-again --ttl 60s
token=$(sed -n 's/^owner //p' <<<"$out")
"$REDLOCK" break asks-again --id "$(id_of asks-again)" --grace 50s --yes >"$work/asks-again" 2>&1 </dev/null &
breaking=$!
until_true grep -q 'is broken' "$work/asks-again"
exits 'is not extended once it is broken' 79 extend asks-again --owner-token "$token"
says 'and says why' 'an operator has broken it'
wait "$breaking"
is 'the break hears that it was told' "$?" 0
exits 'a lease that ends soon' 0 acquire short --ttl 5s
exits 'is not waited for beyond its end' 0 break short --id "$(id_of short)" --yes
ok 'nor said to be' matches "$err" 'waiting up to ([0-9]+ms|[0-5]s) for its holder'
"$REDLOCK" list >/dev/full 2>/dev/null
is 'a list that cannot be written is a failure of the system' "$?" 71
"$REDLOCK" list --json 2>/dev/null | true
is 'one that nobody reads is ended by the signal' "${PIPESTATUS[0]}" 141
exits 'a lock that nobody renews' 0 acquire interrupted --ttl 60s
start break interrupted --id "$(id_of interrupted)" --grace 50s --yes
until_true grep -q 'is broken' "$work/err"
kill -INT "$started"
finish
is 'a break that is interrupted while it waits' "$code" 130
exits 'has broken the lock' 75 run interrupted -n -- true
says 'which stays so' 'broken  by an operator'
# Another program's key that is no lock of our format: a hash, as Redisson has them.
for number in 1 2 3 4 5; do
    node "$number" HSET hash uuid:1 1 >/dev/null
    node "$number" PEXPIRE hash 600000 >/dev/null
done
exits 'a hash of another program is busy' 75 run hash -n -- true
ok 'no break is proposed, which could not end it' lacks "$err" 'redlock break'
says 'but where its holder is named' 'or      redlock status hash --format redisson #'
exits 'status' 0 status hash
ok 'proposes no break either' lacks "$out" 'redlock break'
ok 'but the same' has "$out" 'or      redlock status hash --format redisson #'
exits 'a break that breaks nothing is no success' 79 break hash --id foreign --yes --now
says 'and says so' 'nothing was broken: hash is another program'
exits 'nor one with a grace' 79 break hash --id foreign --yes --json
is 'for scripts, too' "$(field broken <<<"$err") $(field broken_on <<<"$err")" 'False 0'
exits 'what is proposed' 0 status hash --format redisson
ok 'names the break that works' has "$out" 'redlock break hash --id uuid:1 --format redisson'
is 'the key is still there' "$(copies hash)" 5
exits 'which is ended' 0 break hash --id uuid:1 --format redisson --yes --now
ok 'everywhere' until_true copies_are hash 0
exits '--now has no grace' 64 break stale --id 1 --now --grace 3s --yes

# ---- at a terminal
hold asked --ttl 3s
asked_id=$(id_of asked)
if answer=$(python3 - "$REDLOCK" break asked --id "$asked_id" --now <<'END'
import os, pty, sys
seen = b""
def read(fd):
    global seen
    data = os.read(fd, 1024)
    seen += data
    if b"[y/N]" in seen and not read.sent:
        read.sent = True
        os.write(fd, b"n\n")
    return data
read.sent = False
status = pty.spawn(sys.argv[1:], read)
sys.exit(os.waitstatus_to_exitcode(status))
END
); then code=0; else code=$?; fi
is 'a person may say no' "$code" 1
ok 'after it was said what it means' has "$answer" 'two may work at the same time'
ok 'and that the fence is what helps' has "$answer" 'checks the fence'
ok 'then nothing is changed' kill -0 "$holder"
ok 'all lines fit' test "$(tr -d '\r' <<<"$answer" | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }')" -le 120

# ---- what the watches saw
exits 'the watched one is broken' 0 break nightly --id "$nightly_id" --yes --now
ok 'a watch of the name tells that' until_true grep -qE '"event":"(released|broken)"' "$work/watch.one"
ok 'a watch of all does' until_true grep -q '"name":"victim"' "$work/watch.all"
kill "$watch_one" "$watch_all"
wait "$watch_one" "$watch_all" 2>/dev/null

# ---- too few nodes
kill_nodes 1 2 3
exits 'a list that is not complete is not called one' 69 list
exits 'nor is a name called free' 69 wait nobodys -n
exits 'nor is anything broken' 69 break nightly --id 00000000 --yes
done_testing

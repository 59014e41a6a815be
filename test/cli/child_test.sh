#!/usr/bin/env bash
# CMD: when it runs, what it finds in its environment, its streams and descriptors, its group, and the signals it gets.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# ---- it runs while the lock is held, and only then
try run a -- sh -c 'for socket in "$0"/n?.sock; do redis-cli -s "$socket" EXISTS a; done' "$work"
ok 'the lock is held while CMD runs' below 3 "$(grep -c 1 "$work/out")"
is 'and gone after it' "$(copies a)" 0
occupy busy
start run --status-fd 3 busy -- touch "$work/ran"
until_true has_event waiting
ok 'CMD does not start before the lock is held' test ! -e "$work/ran"
vacate busy
finish
is 'and starts when it is' "$code" 0
ok 'indeed' test -e "$work/ran"

# ---- environment
try run job:1 --ttl 7s -- env
ok 'REDLOCK_NAME is the name' has "$out" 'REDLOCK_NAME=job:1'
ok 'REDLOCK_OWNER is the owner value' matches "$out" 'REDLOCK_OWNER=[0-9a-f]{32}'
ok 'REDLOCK_TTL_MS is the lease' has "$out" 'REDLOCK_TTL_MS=7000'
ok 'REDLOCK_HELD lists the name' matches "$out" $'(^|\n)REDLOCK_HELD=job:1($|\n)'
try run a -- sh -c 'for socket in "$0"/n?.sock; do redis-cli -s "$socket" GET a; done | grep -cFx "$REDLOCK_OWNER"' "$work"
ok 'REDLOCK_OWNER is what the nodes have' below 3 "$out"
REDLOCK_FENCE=17 try run a -- sh -c 'test "${REDLOCK_FENCE-none}" != 17'
is 'a fence of an outer lock is not passed on as ours' "$code" 0
try run 'two words%' -- sh -c 'echo "$REDLOCK_HELD|$REDLOCK_NAME"'
is 'blanks in names are encoded in REDLOCK_HELD only' "$out" 'two%20words%25|two words%'
try run outer -- "$REDLOCK" run inner -- sh -c 'echo "$REDLOCK_HELD|$REDLOCK_NAME"'
is 'inner values win, and all names held above are listed' "$out" 'outer inner|inner'

# ---- passwords
REDLOCK_PASSWORD=s3cret try run a -- env
is 'CMD runs' "$code" 0
ok 'and does not see the password of the nodes' lacks "$out" s3cret
REDLOCK_NODES="unix://:s3cret@$work/n1.sock" try run --plain a -- sh -c 'echo "$REDLOCK_NODES"'
is 'nor one in a URL, but which nodes there are: it cannot lock elsewhere by mistake' "$out" "unix://$work/n1.sock"
REDLOCK_NODES="unix://default:s3cret@$work/n1.sock, unix://$work/n2.sock?durable=yes" try run --plain a -- sh -c 'echo "$REDLOCK_NODES"'
is 'and for which user' "$out" "unix://default@$work/n1.sock, unix://$work/n2.sock?durable=yes"
REDLOCK_NODES="unix://:s3cret@$work/n1.sock" REDLOCK_PASSWORD=s3cret \
    try run --plain --pass-credentials a -- sh -c 'echo "$REDLOCK_PASSWORD $REDLOCK_NODES"'
is 'a command that asks for it gets both' "$out" "s3cret unix://:s3cret@$work/n1.sock"

# ---- nested
exits 'the same name inside itself fails at once' 64 run a -- "$REDLOCK" run a -- touch "$work/nested"
says 'and says why' 'would wait for itself'
ok 'and runs nothing' test ! -e "$work/nested"
exits 'two levels down too' 64 run a -- "$REDLOCK" run b -- "$REDLOCK" run a -- true
exits 'acquire too' 64 run a -- "$REDLOCK" acquire a --ttl 5s
exits 'the order and spelling of the nodes does not matter' 64 \
    run a -- "$REDLOCK" run --nodes "$(printf 'unix://%s,' "$work"/n{5,4,3,2,1}.sock)" a -- true
exits 'another prefix is another lock' 0 run a -- "$REDLOCK" run --prefix x: a -- true
exits 'other nodes are another lock' 0 run --nodes "unix://$work/n1.sock" a -- \
    "$REDLOCK" run --nodes "unix://$work/n2.sock" a -- true

# ---- a process that outlives the run it was started by: what it finds in its environment is history
"$REDLOCK" run daemon -- sh -c 'setsid sh -c "until [ -e \"\$0.go\" ]; do sleep 0.02; done
    \"\$REDLOCK\" run -n daemon -- true; echo \$? >\"\$0.first\"
    until [ -e \"\$0.again\" ]; do sleep 0.02; done
    \"\$REDLOCK\" run -n daemon -- true; echo \$? >\"\$0.second\"" "$0" >/dev/null 2>&1 &' "$work/daemon"
ok 'the lock is free when CMD has ended, whatever lives on' until_true copies_are daemon 0
touch "$work/daemon.go"
until_true has_content "$work/daemon.first"
is 'it can take that name again' "$(<"$work/daemon.first")" 0
occupy daemon
touch "$work/daemon.again"
until_true has_content "$work/daemon.second"
is 'and when somebody else has it, it is busy like for everybody' "$(<"$work/daemon.second")" 75
vacate daemon
REDLOCK_HELD=a exits 'a name that nobody holds is not held above' 0 run -n a -- true
occupy a
REDLOCK_HELD=a exits 'one that somebody holds may be, where it is not told who' 64 run -n a -- true
vacate a

# ---- streams
head -c 300000 /dev/urandom >"$work/bytes"
"$REDLOCK" run a -- cat <"$work/bytes" >"$work/copy"
ok 'stdin and stdout are the child'\''s, byte for byte' cmp -s "$work/bytes" "$work/copy"
try run -v a -- sh -c 'echo out; echo err >&2'
is 'our words never go to stdout' "$out" out
ok 'each of our lines has the prefix' equals "$(grep -cv -e '^redlock: ' -e '^err$' "$work/err")" 0
echo line | "$REDLOCK" run a -- true
is 'what CMD does not read stays unread' "$(printf 'one\ntwo\n' | { "$REDLOCK" run a -- true; cat; })" $'one\ntwo'
try run a -- sh -c 'ls /proc/self/fd | wc -l'
plain=$(sh -c 'ls /proc/self/fd | wc -l' </dev/null 2>/dev/null)
is 'CMD inherits no descriptor of ours' "$out" "$plain"
is 'but those of the caller' "$("$REDLOCK" run a -- sh -c 'cat <&9' 9<<<mine)" mine
is 'the status descriptor is not for CMD' \
    "$("$REDLOCK" run --status-fd 7 a -- sh -c '{ echo x >&7; } 2>/dev/null || echo closed' 7>"$work/events")" closed
"$REDLOCK" run a -- sh -c 'test ! -e /proc/self/fd/0' <&-
is 'a closed stdin stays closed' "$?" 0
"$REDLOCK" run --status-fd 3 a -- sh -c 'exit 4' 3>&1 2>&- | true
is 'a reader of the events that goes away does not end CMD' "${PIPESTATUS[0]}" 4
is 'SIGPIPE is as it was for CMD' "$("$REDLOCK" run a -- sh -c 'grep SigIgn /proc/self/status')" \
    "$(grep SigIgn /proc/self/status)"
is 'so is the signal mask' "$("$REDLOCK" run a -- sh -c 'grep SigBlk /proc/self/status')" \
    "$(grep SigBlk /proc/self/status)"

(trap '' CHLD; exec "$REDLOCK" run a -- sh -c 'exit 5')
is 'a caller that ignores CHLD makes no difference' "$?" 5

# ---- -c
try run a -c 'echo $((6 * 7)); exit 3'
is '-c runs through the shell' "$out/$code" 42/3
SHELL=/no/such/shell try run a -c 'true'
is '$SHELL is the one that is used' "$code" 127
try run a 'echo $((6 * 7))'
is 'a shell is never implied' "$code" 127
try run a -- sh -c 'printf "%s\n" "$*"' _ -n --ttl 5 -- x
is 'all that follows CMD is CMD'\''s' "$out" '-n --ttl 5 -- x'
try run -- -odd-name -- sh -c 'echo "$REDLOCK_NAME"'
is 'names may start with a dash behind --' "$out" -odd-name

# ---- its group, and signals
ps_group() { ps -o pgid= -p "$1" | tr -d ' '; }
start run a -- sh -c 'echo $$ >"$0"; sleep 60 & wait' "$work/pid"
until_true has_content "$work/pid"
child=$(<"$work/pid")
is 'CMD has a process group of its own' "$(ps_group "$child")" "$child"
kill -TERM "$started"
finish
is 'TERM to redlock ends CMD' "$code" 143
ok 'all of its group' until_true is_dead "$child"

for signal in INT TERM HUP QUIT USR1 USR2 WINCH; do
    rm -f "$work/pid" "$work/got"
    start run a -- bash -c 'trap "echo $2 >$1; exit 9" '"$signal"'; echo $$ >"$0"; while :; do sleep 0.05; done' \
        "$work/pid" "$work/got" "$signal"
    until_true has_content "$work/pid"
    kill "-$signal" "$started"
    finish
    is "$signal is forwarded" "$(cat "$work/got" 2>/dev/null)" "$signal"
    is 'and CMD decides what comes of it' "$code" 9
done

rm -f "$work/pid"
start run --foreground a -- sh -c 'echo $$ >"$0"; exec sleep 60' "$work/pid"
until_true has_content "$work/pid"
child=$(<"$work/pid")
is '--foreground keeps CMD in the group of the caller' "$(ps_group "$child")" "$(ps_group $$)"
kill -TERM "$started"
finish
is 'where it gets signals all the same' "$code" 143

# What was started in the background stays when CMD ends by itself, as with flock(1).
try run a -- sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'
ok 'what CMD left in the background is left alone' is_alive "$out"
is 'and the lock is free' "$(copies a)" 0
kill "$out"

# nohup
start_nohup() { (trap '' HUP; exec "$REDLOCK" run busy -- true) 2>/dev/null & }
occupy busy
start_nohup
started=$!
started_pids+=("$started")
until_true pgrep -P "$started" >/dev/null
sleep 0.3
kill -HUP "$started"
sleep 0.2
ok 'HUP that was ignored from the start stays ignored' is_alive "$started"
kill -TERM "$started"
finish
is 'TERM still ends it' "$code" 143
vacate busy

# ---- redlock is killed
rm -f "$work/pid"
start run a -- sh -c 'setsid sleep 61 & (sleep 62 &); echo $$ >"$0"; sleep 63' "$work/pid"
until_true has_content "$work/pid"
child=$(<"$work/pid")
find_tree() {
    mapfile -t tree < <(pgrep -f '^sleep 6[123]$' | while read -r pid; do
        grep -qz "^REDLOCK_LOCAL_DIR=$REDLOCK_LOCAL_DIR$" "/proc/$pid/environ" && echo "$pid"
    done)
    [ "${#tree[@]}" -eq 3 ]
}
ok 'CMD has started three others, one of them in a session of its own' until_true find_tree
kill -9 "$started"
finish
is 'redlock is killed' "$code" 137
ok 'CMD dies with it' until_true is_dead "$child"
for pid in "${tree[@]}"; do
    ok 'and so does what it started' until_true is_dead "$pid"
done
vacate a

# The other half: the warden between redlock and CMD is killed.
rm -f "$work/pid"
start run a -- sh -c 'setsid sleep 64 & echo $! >"$0"; sleep 65' "$work/pid"
until_true has_content "$work/pid"
orphan=$(<"$work/pid")
kill -9 "$(warden_of "$started")"
finish
is 'a killed warden is an internal error' "$code" 70
ok 'nothing of CMD is left' is_dead "$orphan"
is 'and the lock is given back' "$(copies a)" 0

# ---- times
start run --status-fd 3 --min-hold 6s a -- true
until_true has_event child_exit
ok '--min-hold keeps the lock after CMD' is_held a
finish
is 'and then passes its exit code on' "$code" 0
ok 'not earlier' below 6000 "$(event released held_ms)"
start run --status-fd 3 --min-hold 1h a -- sh -c 'exit 6'
until_true has_event child_exit
kill -TERM "$started"
finish
is 'a signal ends --min-hold early' "$code" 6
is 'with the lock given back' "$(copies a)" 0
exits '--max-time ends what CMD started as well' 124 run --max-time 5s --grace 300ms a -- \
    sh -c 'setsid sleep 66 & echo $! >"$0"; sleep 67' "$work/pid"
ok 'also in a session of its own' is_dead "$(<"$work/pid")"

done_testing

#!/usr/bin/env bash
# Every program and script in examples/ does what it says against five real nodes. They are compiled by the build.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

start_new_nodes
PATH=$(dirname "$REDLOCK"):$PATH
tested=''

# example NAME ARGUMENT...: runs one; $code, $out and $err are what it came to.
example() {
    tested="$tested $1"
    "$BUILD/examples/example-$1" "${@:2}" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
}

# script NAME ARGUMENT...
script() {
    tested="$tested $1"
    "$SOURCE/examples/shell/$1.sh" "${@:2}" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
}

catalogue_line() { [ "$(node 1 ZCARD 'redlock-line:{catalogue}:waiters')" = "$1" ]; }

# A lock need not be on all nodes.
is_held() { [ "$(copies "$1")" -ge 3 ]; }

# ---- what nodes say of themselves
example examine
is 'examine asks all nodes' "$code" 0
is 'about their versions' "$(grep -cE 'sock: (redis|valkey) [0-9.]+, append-only file: no, missing rights: none$' "$work/out")" 5

# ---- init, with nodes that are new
example hello
is 'new nodes do not vote' "$code" 1
ok 'and say why' has "$err" 'restarted or wiped'
example init
is 'init admits them' "$code" 0
is 'each of them' "$(grep -c 'sock: may vote$' "$work/out")" 5
admit # for locks up to the usual max_ttl

# ---- hello
example hello
is 'hello takes its lock' "$code" 0
ok 'and says for how long it is valid' matches "$out" 'work for at most [0-9]+ ms'
ok 'and that it was released' has "$out" 'released it'
ok 'nothing stays behind' until_true copies_are hello 0
example hello "$REDLOCK_NODES"
is 'nodes may be an argument' "$code" 0
occupy hello
example hello
is 'a held lock is busy' "$code" 1
ok 'and the holder is named' has "$err" 'held by web-3 pid 4242'
REDLOCK_NODES='' example hello
is 'no nodes are an error' "$code" 1
ok 'in words' has "$err" '0 nodes given'

# ---- wait
example wait
is 'wait takes a free lock' "$code" 0
ok 'in one round' has "$out" 'acquired after 1 rounds'
occupy nightly-report
example wait
is 'and gives up on a held one' "$code" 1
ok 'with who' has "$err" 'by deploy on web-3, pid 4242: pg_dump prod'
ok 'and until when' matches "$err" 'free in [0-9]+ ms unless it is renewed'
vacate nightly-report

# ---- names
example names
is 'names takes two names at once' "$code" 0
ok 'under one fence' matches "$out" 'account:3, fence ([0-9]+)
account:7, fence ([0-9]+)'
ok 'and enters a lock again' has "$out" 'moved (2 deep)'
script transfer 3 7 printenv REDLOCK_HELD
is 'transfer runs a command under both' "$out" 'account:3 account:7'

# ---- reentrant
example reentrant
is 'reentrant enters again, in two threads, and anew' "$code:$out" $'0:texts stored, 2 deep\npictures stored, 2 deep\na correction stored, 1 deep'
ok 'and gives the lock back' until_true copies_are catalogue 0
occupy catalogue
"$BUILD/examples/example-reentrant" >"$work/out" 2>&1 </dev/null &
started=$!
started_pids+=("$started")
ok 'another owner waits' until_true catalogue_line 1
vacate catalogue
finish
is 'and comes in' "$code:$(tail -n 1 "$work/out")" '0:a correction stored, 1 deep'
script reentrant rebuild
is 'reentrant.sh runs its parts under one lock' "$code:$out" $'0:texts rebuilt\npictures rebuilt'
script reentrant part texts
is 'and a part by itself' "$code:$out" '0:texts rebuilt'
script reentrant
is 'it wants to know which' "$code" 64

# ---- fair
example fair
is 'fair takes a free lock' "$code" 0
ok 'nobody was before it' has "$out" '0 before us'
occupy printer
printer_line() { [ "$(node 1 ZCARD 'redlock-line:{printer}:waiters')" = "$1" ]; }
for turn in 1 2; do
    "$BUILD/examples/example-fair" >"$work/fair$turn" 2>&1 </dev/null &
    started_pids+=("$!")
    until_true printer_line "$turn"
done
vacate printer
wait "${started_pids[@]}"
ok 'two of them have their turns' has "$(cat "$work/fair1" "$work/fair2" | sort)" 'our turn after'
ok 'the second knew of the first' has "$(<"$work/fair2")" '1 before us'

# ---- semaphore
example semaphore
is 'semaphore has a slot' "$code" 0
ok 'one of four' matches "$out" '^working on gpu [0-3]$'

# ---- shared
example shared
is 'shared reads' "$code/$out" '0/1 read it'
example shared write
is 'and writes' "$code/$out" '0/nobody reads it while we write'

# ---- redisson
example redisson
is 'redisson takes a lock in that format' "$code" 0
is 'as a reader, then alone' "$out" $'read, together with other readers\nchanged, alone'

# ---- renew
example renew
is 'renew outlives its TTL' "$code" 0
ok 'in all its steps' has "$out" '50 steps, import: ok'
ok 'by renewing' has "$err" 'extended it'
"$BUILD/examples/example-renew" >"$work/out" 2>"$work/err" </dev/null &
started=$!
started_pids+=("$started")
until_true is_held import
steal import
finish
vacate import
is 'renew stops when the lock is lost' "$code" 1
ok 'because it was told' has "$err" 'import: lost'
ok 'before it was done' lacks "$out" '50 steps'

# ---- C++, where it was compiled
if [ -e "$BUILD/examples/example-raii" ]; then
    example raii
    is 'raii outlives its TTL' "$code:$out" '0:50 steps'
    ok 'and gives the lock back' until_true copies_are import 0
    "$BUILD/examples/example-raii" >"$work/out" 2>"$work/err" </dev/null &
    started=$!
    started_pids+=("$started")
    until_true is_held import
    steal import
    finish
    vacate import
    is 'raii stops when the lock is lost' "$code:$out" '1:'
    ok 'because it looks' has "$err" 'raii: the lock was lost'
    example mutexes
    is 'mutexes takes two at a time' "$code" 0
    ok 'with their fences' matches "$out" 'both, with fencing tokens [0-9]+ and [0-9]+'
    ok 'and one that is free' has "$out" 'and the audit'
    occupy audit
    example mutexes
    ok 'or says that it is not' has "$out" 'the audit is busy'
    vacate audit
    example kinds
    is 'kinds takes a lock of every kind' "$code:$err" 0:
    ok 'a slot' matches "$out" 'working on gpu [0-3], [01] of 4 in use'
    ok 'two names under one fence' matches "$out" 'account:3, fence ([0-9]+)
account:7, fence ([0-9]+)'
    ok 'a log that is entered again' has "$out" $'moved\ndone'
    ok 'and a shared one' has "$out" '1 read it'
    example coroutine
    case $code in
        77) ok 'coroutine # SKIP this compiler has none' true ;;
        *)
            is 'coroutine takes its lock' "$code" 0
            ok 'and has a fence' matches "$out" 'fencing token [0-9]+'
            ok 'and gives it back' until_true copies_are coroutine 0
            ;;
    esac
else
    ok 'examples in C++ # SKIP there is no C++ compiler' true
    tested="$tested raii mutexes kinds coroutine"
fi

# ---- Python, which cannot load a library with a sanitizer
if is_sanitized; then
    ok 'examples in Python # SKIP they would need the run-time library of the sanitizer' true
else
    PYTHONPATH=$SOURCE/python PYTHONDONTWRITEBYTECODE=1 LIBREDLOCK=$BUILD/src/libredlock.so.1 "$SOURCE/examples/python/kinds.py" \
        >"$work/out" 2>"$work/err" </dev/null
    is 'kinds.py takes a lock of every kind' "$?:$(<"$work/err")" 0:
    out=$(<"$work/out")
    ok 'a slot' matches "$out" 'working on gpu [0-3], [01] of 4 in use'
    ok 'two names under one fence' matches "$out" 'account:3 and account:7, fence [0-9]+'
    ok 'a log that is entered again' has "$out" $'moved (2 deep)\ndone (2 deep)'
    ok 'and a shared one' has "$out" '1 read it'
fi

# ---- event_loop
# loops: runs it with a keyboard on descriptor 4.
loops() {
    tested="$tested event_loop"
    rm -f "$work/keys"
    mkfifo "$work/keys"
    "$BUILD/examples/example-event_loop" >"$work/out" 2>"$work/err" <"$work/keys" &
    started=$!
    started_pids+=("$started")
    exec 4>"$work/keys"
}
loops
until_true grep -q 'granted it' "$work/out"
ok 'event_loop holds the lock while no key comes' is_alive "$started"
echo >&4
finish
is 'a key ends it' "$code" 0
ok 'with the lock released' has "$out" 'turn: ok: 3 of 5 nodes released it'
occupy turn
loops
echo >&4
finish
is 'a key ends the wait too' "$code" 1
ok 'with a cancelled request' has "$out" 'turn: canceled'
exec 4>&-
is "and leaves the holder's lock alone" "$(copies turn)" 5

# ---- other people's event loops, where they are installed
for loop in libevent libuv glib; do
    if [ -e "$BUILD/examples/example-$loop" ]; then
        example "$loop"
        is "$loop takes three locks and leaves its loop" "$code:$err" 0:
        is "each is granted and released" "$(grep -c 'granted it' "$work/out") $(grep -c 'released it' "$work/out")" '3 3'
        ok 'nothing stays behind' until_true copies_are 'turn 3' 0
        occupy 'turn 2'
        example "$loop"
        is "a wait in $loop ends without any other event" "$code" 1
        ok 'by its own deadline' has "$out" 'timed out'
        is 'the others were granted and released' "$(grep -c 'released it' "$work/out")" 2
        vacate 'turn 2'
    else
        ok "$loop # SKIP it is not installed" true
        tested="$tested $loop"
    fi
done

# ---- adopt
example adopt
is 'adopt hands a lock to itself' "$code" 0
ok 'after taking it' has "$out" 'taken by process'
ok 'and goes on with it' matches "$out" 'adopted, [0-9]+ ms left'
ok 'nothing stays behind' until_true copies_are handover 0
REDLOCK_OWNER=nobody example adopt
is 'it cannot go on with what is not there' "$code" 1
ok 'and says so' has "$err" 'not held'

# ---- extend
example extend
is 'extend makes time for each step' "$code" 0
ok 'by extending' matches "$out" 'nodes extended it( so far, which is enough)?, valid [0-9]+ ms'
ok 'and releases in the end' has "$out" 'released it'

# ---- fenced_sqlite
"$BUILD/examples/example-fenced_sqlite" "$work/documents" old 3 >"$work/overslept" 2>&1 </dev/null &
overslept=$!
ok 'fenced_sqlite takes the lock before it writes' until_true is_held 'document 1'
example fenced_sqlite "$work/documents" new
is 'another one writes once the lease of the first has ended' "$code:$out" 0:written
wait "$overslept"
is 'the first wakes up and is refused by the database' "$?:$(<"$work/overslept")" \
    '1:refused: a newer holder has written already'
example fenced_sqlite
is 'it wants a database and a text' "$code" 64

# ---- inspect
example inspect hello
is 'inspect asks who holds a name' "$code" 0
ok 'and tells' has "$out" 'hello is held by deploy on web-3, pid 4242, "pg_dump prod", id somebody'
ok 'node by node' has "$out" "n5.sock: held"
example inspect nobodys
ok 'a free name is free' has "$out" 'nobodys is not held by a quorum'
for number in 1 2 3 4 5; do
    node "$number" SET split "owner-$((number % 3))" PX 600000 >/dev/null
done
example inspect split
ok 'five keys of three owners are no holder' has "$out" 'split is not held by a quorum'
example inspect
is 'a name is needed' "$code" 1

# ---- operate
owner=0123456789abcdef0123456789abcdef
for number in 1 2 3 4 5; do
    node "$number" SET operated "$owner|host=web-3|user=deploy" PX 600000 >/dev/null
done
example operate list "$REDLOCK_NODES"
is 'operate lists' "$code" 0
ok 'what is held' has "$out" 'operated: held by deploy on web-3, id 01234567, on 5 of 5 nodes, 0 waiting'
try acquire gpus --slots 4 --ttl 60s
slot=$(sed -n 's/^slot //p' <<<"$out")
owner=$(sed -n 's/^owner //p' <<<"$out")
example operate list "$REDLOCK_NODES"
ok 'slots, too' matches "$out" "gpus: held by .*, id ${owner:0:8}, on [345] of 5 nodes, 0 waiting, slot $slot of 4"
example operate break "$REDLOCK_NODES" gpus "${owner:0:8}"
is 'and breaks them' "$code" 0
example operate break "$REDLOCK_NODES" operated fedcba98
is 'it breaks nobody else' "$code" 1
ok 'and says so' has "$err" 'not held'
example operate break "$REDLOCK_NODES" operated 01234567
is 'it breaks the one it is told' "$code" 0
example operate wait "$REDLOCK_NODES" operated
is 'and waits until it is free' "$code" 0
occupy operated
"$BUILD/examples/example-operate" watch "$REDLOCK_NODES" operated >"$work/watched" 2>&1 </dev/null &
watching=$!
ok 'it watches' until_true grep -q 'operated: held' "$work/watched"
for number in 1 2 3 4 5; do
    node "$number" DEL operated >/dev/null
done
wait "$watching"
is 'until it is released' "$?:$(tail -n 1 "$work/watched")" '0:operated: released '
example operate
is 'it wants to know the nodes' "$code" 1

# ---- stats
example stats
is 'stats counts' "$code" 0
ok 'what it did' matches "$out" 'redlock [0-9.]+: 100 acquired, 100 released, 0 held now'
ok 'node by node' matches "$out" 'n5.sock: [0-9]+ granted, 0 failed'

# ---- metrics
example metrics
is 'metrics prints them' "$code" 0
ok 'with the lock that it holds' has "$out" 'redlock_held{client="example"} 1'

# ---- elect, once, barrier
example elect 3
is 'elect leads for its steps' "$code" 0
ok 'with a term' matches "$out" 'leads, term [0-9]+'
ok 'and gives the lock back' until_true copies_are leader 0
example once
is 'once does its job' "$code:$out" 0:done
example once
ok 'once' matches "$code:$out" '0:was done [0-9]+ s ago'
for party in 1 2; do
    "$BUILD/examples/example-barrier" >"$work/party$party" 2>&1 </dev/null &
    started_pids+=("$!")
done
ok 'two wait at the barrier' until_true grep -q '2 have come' "$work/party1" "$work/party2"
example barrier
is 'and go on with the third' "$code" 0
ok 'indeed' until_true grep -q '3 parties have come' "$work/party1"
example legacy "unix://$work/n1.sock"
is 'legacy takes its lock' "$code" 0
ok 'and gives it back' has "$out" 'the node released it'
node 1 SET lock.foo 9999999999999 >/dev/null
example legacy "unix://$work/n1.sock"
is 'one that is held is busy' "$code" 1
node 1 DEL lock.foo >/dev/null
script elect echo leads
is 'elect.sh leads' "$code:$out" 0:leads
script readers search redlock status --json search-index
ok 'readers.sh shares a lock' matches "$out" '"kind": ?"shared"'
script readers rebuild echo rebuilt
is 'and has it alone' "$code:$out" 0:rebuilt
script once report echo ran
is 'once.sh runs its job' "$code:$out" 0:ran
script once report echo ran
is 'once' "$code:$out$err" 0:
for party in 1 2; do
    "$SOURCE/examples/shell/barrier.sh" "echo ready" "echo switched" >"$work/switch$party" 2>&1 </dev/null &
    started_pids+=("$!")
    ok 'it prepares' until_true grep -q ready "$work/switch$party"
done
script barrier 'echo ready' 'echo switched'
is 'barrier.sh goes on with the others' "$code:$(tail -n 1 <<<"$out")" 0:switched
ok 'both of them' until_true grep -q switched "$work/switch1"
echo picture >"$work/picture"
tested="$tested slots"
(cd "$work" && "$SOURCE/examples/shell/slots.sh" picture) 2>"$work/err" </dev/null
ok 'slots.sh works in a slot' grep -q picture "$work"/slot[0-3]/picture
script legacy "unix://$work/n1.sock" lock.foo echo ran
is 'legacy.sh runs its job' "$code:$out" 0:ran

# ---- update
example update visits
is 'update makes a number' "$code:$out" '0:visits is 1 after 1 tries'
example update visits
is 'and adds to it' "$code:$out" '0:visits is 2 after 1 tries'
is 'on the first node' "$(node 1 GET visits)" 2
node 1 SET visits many >/dev/null
example update visits
is 'what is no number is left alone' "$code:$(node 1 GET visits)" 1:many
node 1 SET visits 40 >/dev/null
script counter visits 2
is 'counter does the same in a script' "$code:$(node 1 GET visits)" 0:42
example update
is 'a key is needed' "$code" 64

# ---- unlock
try acquire parcel --ttl 60s
owner=$(sed -n 's/^owner //p' <<<"$out")
example unlock parcel "$owner"
is 'unlock releases what another process took' "$code" 0
ok 'and says who that was' matches "$out" 'taken by .* on .*, pid [0-9]+, id [0-9a-f]{8}'
ok 'it is gone' until_true copies_are parcel 0
example unlock parcel "$owner"
is 'a second time it is not held' "$code" 1
ok 'and that is said' has "$err" 'not held'

# ---- the scripts
job="touch '$work/begun'; until [ -e '$work/go' ]; do sleep 0.05; done; echo ran"
MIN_HOLD=1s "$SOURCE/examples/shell/cron.sh" job sh -c "$job" >"$work/first" 2>&1 </dev/null &
started=$!
started_pids+=("$started")
until_true test -e "$work/begun"
script cron job echo ran
is 'the second host of a cron job succeeds' "$code" 0
is 'without a word' "$out$err" ''
touch "$work/go"
wait "$started"
is 'the first one does the job' "$(<"$work/first")" ran

script deploy shop 1.2
is 'deploy runs itself under the lock' "$code:$out" '0:deploying shop 1.2'
is 'in silence' "$err" ''

script lease "redlock status import | sed -n 's/ held by .*/ held/p'" 'echo two'
is 'lease runs its steps under the lock' "$code:$out" $'0:import is held\ntwo'
is 'in silence' "$err" ''
ok 'and gives it back' until_true copies_are import 0
script lease 'exit 3' 'echo two'
is 'it ends with the first step that fails' "$code:$out" 3:
ok 'and gives the lock back all the same' until_true copies_are import 0

# A reader of docs/failures.md sources it.
tested="$tested five-nodes"
mkdir "$work/five"
out=$(cd "$work/five" && . "$SOURCE/examples/shell/five-nodes.sh" 2>"$work/err" && kill_node 1 && freeze_node 2 &&
    redlock run five --wait 30s -- echo works; stop_nodes)
is 'five-nodes starts nodes that can be broken' "$out" works
mkdir "$work/again"
cat >"$work/again.sh" <<'END'
. "$SOURCE/examples/shell/five-nodes.sh" && pids=$(cat ?.pid) && kill_node 3 && start_node 3 && pids=$(cat ?.pid) &&
    . "$SOURCE/examples/shell/five-nodes.sh" && start_node 1 && [ "$pids" = "$(cat ?.pid)" ] && echo same
stop_nodes
for pid in $pids; do ! kill -0 "$pid" 2>/dev/null || echo "$pid runs"; done
END
out=$(cd "$work/again" && SOURCE=$SOURCE sh "$work/again.sh" 2>"$work/err")
is 'sourced twice it starts no second server for a node' "$out" same
ok 'and says so' grep -q 'nodes run in .* already' "$work/err"

# ---- too few nodes, last because they stay down
kill_nodes 1 2 3
example wait
is 'without a quorum wait fails' "$code" 1
example init
is 'so does init' "$code" 1
ok 'and says why' matches "$out" 'n1.sock: failed, [a-z]+'
example wait
ok 'says how many are needed' has "$err" 'too few nodes, 3 are needed'
ok 'and what is wrong with them' matches "$err" 'n1.sock: failed [a-z]+'

for file in "$SOURCE"/examples/*.c "$SOURCE"/examples/*.cpp "$SOURCE"/examples/shell/*.sh; do
    name=$(basename "$file")
    ok "$name is tested" has "$tested " " ${name%.*} "
done
done_testing

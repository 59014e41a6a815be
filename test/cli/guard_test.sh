#!/usr/bin/env bash
# Nodes that do not remember what was locked sit out, and who needs them is told; init admits a new fleet; locks carry
# fences that rise; plain mode does without all that.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

sits_out="sock(: |  ineligible .*)restarted or wiped; quarantined for (another )?[0-9]+ s"

# sitting_out: how many nodes the last redlock named as sitting out, for how long and why.
sitting_out() {
    cat "$work/out" "$work/err" | grep -cE "^  node .*$sits_out"
}
# value KEY: from the last output of "key value" lines.
value() {
    sed -n "s/^$1 //p" <<<"$out"
}
# config LINE...: a configuration with the five nodes and these lines, in $work/redlock.conf.
config() {
    printf '%s\n' "nodes = $REDLOCK_NODES" "$@" >"$work/redlock.conf"
}
# asks_init WORD...: init on a terminal.
asks_init() {
    talk sh -c '"$0" init; echo code-$?' "$REDLOCK" THEN "$@"
}

start_new_nodes

# ---- a new fleet
exits 'without nodes that may vote there is no lock: 69' 69 run -n a -- touch "$work/ran"
ok 'and CMD did not run' test ! -e "$work/ran"
says 'it says how many are needed' 'redlock: a: too few nodes may vote: 3 are needed'
is 'which are quarantined, why and for how long, all of them' "$(sitting_out)" 5
ok 'which is a little longer than the longest lock' matches "$err" 'another 6[0-9] s'
ok 'and what to do' matches "$err" '  fix     wait [0-9ms]+; or, .*new fleet.*: redlock init'
is 'nothing was taken' "$(copies a)" 0
exits '--json says it as an object' 69 run -n --json a -- true
ok 'with a result of its own' has "$err" '"result":"quarantine"'
ok 'and the nodes' matches "$err" '"verdict":"ineligible","cause":"quarantine","eligible":false,.*"detail":"restarted or wiped'
exits 'it is never busy: -E is not for this' 69 run -n -E 9 a -- true
exits 'nor is --skip-ok' 69 run -n --skip-ok a -- true
exits 'acquire says the same' 69 acquire -n --ttl 5s a
exits 'so does a wait that runs out' 69 run -w 600ms a -- true
is 'by then all nodes are known' "$(sitting_out)" 5
start run --status-fd 3 a -- touch "$work/ran"
until_true has_event waiting
until_true has_content "$work/err"
ok 'without -n it waits' is_alive "$started"
ok 'and says so, with the reason and what to do' matches "$(<"$work/err")" \
    "redlock: a: 0 of 5 nodes may vote, 3 are needed; node [1-5] .*$sits_out.*redlock init.*; waiting"
kill -TERM "$started"
finish
is 'until it is interrupted' "$code" 143
ok 'without having run CMD' test ! -e "$work/ran"
exits 'status shows the nodes' 0 status
is 'as ineligible, why and for how long' "$(sitting_out)" 5
says_mode() { ok "$1" matches "$out" "(^|
)  mode    $2"; }
says_mode 'and the mode' 'guarded [(]fencing tokens; restarted nodes excluded[)]'
exits 'status as JSON too' 0 status --json
ok 'with the mode' has "$out" '"mode":"guarded"'
is 'and which nodes are fit' "$(grep -o '"eligible":false' <<<"$out" | grep -c .)" 5

# ---- plain mode does not care
export REDLOCK_FENCE=17 # of somebody above us
exits '--plain needs no such nodes' 0 run -n --plain a -- sh -c 'echo "${REDLOCK_FENCE-none}"'
is 'and has no fence, not even that of another lock' "$out" none
unset REDLOCK_FENCE
exits 'acquire likewise' 0 acquire -n --plain --ttl 60s plain
is 'its lease has no fence' "$(value fence)" ''
exits 'extend likewise' 0 extend plain --plain --owner-token "$(value owner)" --ttl 120s
exits '--json has none either' 0 acquire -n --plain --ttl 60s --json plain2
ok 'indeed' lacks "$out" fence
vacate plain2
vacate plain
vacate plain2
exits 'status --plain' 0 status --plain
says_mode 'names the mode' plain
is 'and has nothing to complain of' "$(grep -c ' up ' "$work/out")" 5
config 'mode = plain'
exits 'mode = plain in the configuration does the same' 0 run -n --config "$work/redlock.conf" a -- \
    sh -c 'echo "${REDLOCK_FENCE-none}"'
is 'without a fence' "$out" none
exits 'status tells' 0 status --config "$work/redlock.conf"
says_mode 'which mode that is' plain

exits 'init has nothing to do there' 64 init --yes --config "$work/redlock.conf"
says 'as it says' 'plain mode'

# ---- init asks
exits 'init needs --yes when nobody can be asked' 64 init
says 'and says so' '--yes'
exits 'in JSON too' 64 init --json
ok 'as an object' has "$err" '"exit_code":64'
exits 'nothing was changed by that' 69 run -qn a -- true
asks_init '?on these 5 nodes' '?[y/N]' '!n\n' '?nothing was changed' '?code-1'
is 'on a terminal it asks' "$code" 0
asks_init '?[y/N]' '!\n' '?nothing was changed' '?code-1'
is 'without an answer it is no' "$code" 0
exits 'nothing was changed by these' 69 run -qn a -- true
start run --status-fd 3 a -- echo ran
until_true has_event waiting
asks_init '?[y/N]' '!y\n' '?5 of 5 nodes may vote' '?code-0'
is 'with a yes the nodes are admitted' "$code" 0
finish
is 'and who waited goes on' "$code/$out" 0/ran
ok 'soon' below "$(event acquired waited_ms)" 20000
exits 'and there are locks' 0 run -n a -- true
is 'without a word' "$err" ''
exits 'init --yes does not ask' 0 init --yes
is 'and says what it did' "$err" 'redlock: 5 of 5 nodes may vote'
exits '-q does not' 0 init -yq
is 'say anything' "$out$err" ''
exits '--json answers with an object' 0 init --yes --json
ok 'that counts' has "$out" '"result":"ok","admitted":5'
is 'and lists the nodes' "$(grep -o '"eligible":true' <<<"$out" | grep -c .)" 5
exits 'a lock is held' 0 acquire precious --ttl 60s
held=$(value owner)
exits 'init sees it and refuses' 75 init --yes
says 'with a word about that' 'a lock is held on these nodes: nothing was changed'
ok 'names it' matches "$err" '  node    [1-5] .*: it has the lock "precious"'
ok 'and what to do' has "$err" '--force'
exits 'in JSON too' 75 init --yes --json
exits '--force goes on' 0 init --yes --force
"$REDLOCK" release precious --owner-token "$held"
exits 'without it as well when the lock is released' 0 init --yes
exits 'init takes no NAME' 64 init a
exits 'init is not for plain mode' 64 init --yes --plain
exits 'status is content' 0 status
is 'with all nodes' "$(grep -c ' up ' "$work/out")" 5

# ---- fences
last=0
rises() {
    [ "$1" -gt "$last" ]
    local risen=$?
    last=$1
    return "$risen"
}
for number in 1 2 3 4 5; do
    try run a -- sh -c 'echo "$REDLOCK_FENCE"'
    ok 'REDLOCK_FENCE rises from run to run' rises "$out"
done
exits 'acquire prints it' 0 acquire a --ttl 60s
ok 'and it is higher again' rises "$(value fence)"
"$REDLOCK" release a --owner-token "$(value owner)"
exits 'also with --json' 0 acquire a --ttl 60s --json
ok 'as a number' matches "$out" '"fence": ?([0-9]+)[,}]'
ok 'and it is higher again' rises "${BASH_REMATCH[1]}"
vacate a
start run --status-fd 3 a -- sh -c 'echo "$REDLOCK_FENCE"'
finish
ok 'the events have it' rises "$(event acquired fence)"
is 'and CMD the same' "$out" "$last"
try run a -- sh -c '"$0" run b -- sh -c "echo \$REDLOCK_FENCE"; echo "$REDLOCK_FENCE"' "$REDLOCK"
ok 'nested, each has its own' matches "$out" $'^([0-9]+)\n([0-9]+)$'
ok 'indeed' test "${BASH_REMATCH[1]}" -ne "${BASH_REMATCH[2]}"
ok 'the one of a is higher again' rises "${BASH_REMATCH[2]}"
admit
try run a -- sh -c 'echo "$REDLOCK_FENCE"'
ok 'init does not set it back' rises "$out"
config 'mode = guarded'
exits 'mode = guarded in the configuration is the usual' 0 run --config "$work/redlock.conf" a -- sh -c 'echo "$REDLOCK_FENCE"'
ok 'with a fence' rises "$out"
exits '--plain goes before it' 0 run --plain --config "$work/redlock.conf" a -- sh -c 'echo "${REDLOCK_FENCE-none}"'
is 'so there is none' "$out" none

# ---- names that are ours
for name in redlock-guard:x redlock-guard:epoch 'redlock-fence:{a}' 'redlock-line:{a}:line'; do
    exits "run refuses the name $name" 64 run -n "$name" -- true
    exits 'so does acquire' 64 acquire -n --ttl 5s "$name"
    exits 'and extend' 64 extend --owner-token x --ttl 5s "$name"
    exits 'and release' 64 release --owner-token x "$name"
    says 'with the reason' reserved
    exits 'in plain mode too' 64 run -n --plain "$name" -- true
done
exits 'a prefix makes no difference' 64 run -n --prefix redlock- guard:x -- true
exits 'and can save it' 0 run -n --prefix my- redlock-guard:x -- true

# ---- the longest TTL
# too_long NAME ARGUMENT...: refused as longer than max_ttl.
too_long() {
    exits "$1" 64 "${@:2}"
    says 'and says what to do' 'max_ttl'
}
too_long 'a TTL above max_ttl is refused' run -n --ttl 61s a -- true
too_long 'by acquire' acquire -n --ttl 61s a
too_long 'by extend' extend a --owner-token x --ttl 61s
exits 'one that is just as long is not' 0 run -n --ttl 60s a -- true
exits 'in plain mode there is no such bound' 0 run -n --plain --ttl 61s a -- true
config 'max_ttl = 5s' 'ttl = 4s'
exits 'max_ttl in the configuration' 0 run -n --config "$work/redlock.conf" a -- sh -c 'echo "$REDLOCK_TTL_MS"'
is 'lets shorter ones pass' "$out" 4000
too_long 'and refuses longer ones' run -n --config "$work/redlock.conf" --ttl 6s a -- true
config 'max_ttl = 5s'
exits 'the usual TTL is no longer than max_ttl' 0 run -n --config "$work/redlock.conf" a -- sh -c 'echo "$REDLOCK_TTL_MS"'
is 'without a word' "$out$err" 5000
config 'max_ttl = 2m'
exits 'a client with a longer one gets what it wants' 0 run -n --config "$work/redlock.conf" --ttl 100s a -- true
exits 'and the others as before' 0 run -n a -- true
# wrong LINE WORDS: refused as wrong configuration, with file, line and these words.
wrong() {
    config "$1"
    exits "\"$1\" is wrong configuration" 78 status --config "$work/redlock.conf"
    says 'with the reason' "redlock.conf:2: $2"
}
wrong 'mode = fancy' 'mode "fancy" is none of guarded, plain, legacy and legacy-seconds'
wrong 'mode =' 'mode'
wrong 'max_ttl = soon' 'max_ttl "soon"'
wrong 'max_ttl = 0' 'max_ttl "0" is too short'
wrong 'max_ttl = 25h' 'max_ttl "25h" is too long'
wrong 'ttl = 90s' 'ttl is above max_ttl (1m00s)'
config 'ttl = 6s' 'max_ttl = 5s'
exits 'ttl above max_ttl is wrong configuration' 78 run -n --config "$work/redlock.conf" a -- true
says 'with its line' 'redlock.conf:2: ttl is above max_ttl (5s)'
config 'ttl = 90s' 'mode = plain'
exits 'in plain mode it may be longer' 0 status --config "$work/redlock.conf"

# ---- the rights that redlock.conf.5 names are enough
read -ra rights < <(sed -nE 's/\\//g; s/^\tACL SETUSER //p' "$SOURCE/man/redlock.conf.5.scd" | for_this_server)
ok 'the page names rights' equals "${rights[0]-}" locks
for number in 1 2 3 4 5; do
    node "$number" ACL SETUSER "${rights[@]}" >/dev/null
done
config 'prefix = lock:' 'user = locks'
export REDLOCK_PASSWORD=password
exits 'they are enough for init' 0 init -yq --config "$work/redlock.conf"
exits 'for a lock' 0 run -n --config "$work/redlock.conf" a -- sh -c 'echo "$REDLOCK_FENCE"'
ok 'with a fence' matches "$out" '^[0-9]+$'
exits 'and for status' 0 status --config "$work/redlock.conf" a
exits 'another prefix is not for this user' 77 run -n --prefix other: --config "$work/redlock.conf" a -- true
for number in 1 2 3 4 5; do
    node "$number" ACL SETUSER locks resetkeys '~lock:*' -info >/dev/null
done
exits 'guarded mode needs them' 77 run -n --config "$work/redlock.conf" a -- true
says 'as it says' 'grant +info to the user, or use plain mode'
exits 'plain mode does not' 0 run -n --plain --config "$work/redlock.conf" a -- true
unset REDLOCK_PASSWORD

# ---- nodes that forget one by one
node 2 FLUSHALL >/dev/null
exits 'a node that was flushed' 0 status
is 'is named by status, alone' "$(sitting_out)/$(grep -c ' up ' "$work/out")" 1/4
ok 'by its URL' matches "$out" "n2.$sits_out"
exits 'the others do' 0 run -n a -- true
kill_nodes 3
start_node 3
until_true is_up 3
exits 'a node that was restarted without its memory' 0 status
ok 'is named too' matches "$out" "n3.$sits_out"
exits 'three do' 0 run -n a -- true
node 4 FLUSHALL >/dev/null
exits 'two do not' 69 run -n a -- true
for number in 2 3 4; do
    ok 'and those that are missing are named' matches "$err" "n$number.$sits_out"
done
exits 'init admits them again' 0 init --yes
exits 'and all is well' 0 run -n a -- sh -c 'echo "$REDLOCK_FENCE"'
ok 'with a higher fence' rises "$out"
node 5 CONFIG SET maxmemory 100mb >/dev/null
node 5 CONFIG SET maxmemory-policy allkeys-lru >/dev/null
exits 'a node that would evict locks' 0 status
ok 'is ineligible for that reason' matches "$out" 'n5.sock  ineligible .*maxmemory'
exits 'which init does not change' 0 init --yes
says 'as it says' '4 of 5 nodes may vote'
for number in 3 4; do
    node "$number" CONFIG SET maxmemory 100mb >/dev/null
    node "$number" CONFIG SET maxmemory-policy allkeys-lru >/dev/null
done
exits 'with three of that kind there is no lock' 69 run -n a -- true
is 'all of them are named' "$(grep -cE '^  node .*n[345].sock: .*maxmemory' "$work/err")" 3
ok 'and init, which does not help, is not advised' lacks "$err" 'redlock init'
for number in 3 4; do
    node "$number" CONFIG SET maxmemory 0 >/dev/null
    node "$number" CONFIG SET maxmemory-policy noeviction >/dev/null
done
kill_nodes 1 2 3
exits 'init without a quorum of nodes is 69' 69 init --yes
says 'and says so' 'n1.sock'

# ---- a node that keeps its memory
start_durable() {
    redis-server --port 0 --unixsocket "$work/n7.sock" --save '' --appendonly yes --appendfsync always --dir "$work" \
        --logfile "$work/n7.log" </dev/null >/dev/null 2>&1 &
    node_pids[7]=$!
    until_true is_up 7
}
start_durable
"$REDLOCK" init -yq --nodes "unix://$work/n7.sock?durable=yes"
kill_nodes 7
start_durable
exits 'a durable node votes at once after a restart' 0 run -qn --nodes "unix://$work/n7.sock?durable=yes" a -- true
kill_nodes 7
start_durable
exits 'one that is not declared durable is quarantined' 69 run -n --nodes "unix://$work/n7.sock" a -- true
says 'and spoken of as one' 'too few nodes may vote: 1 is needed'
exits 'durable=no is no such word' 78 run -qn --nodes "unix://$work/n7.sock?durable=no" a -- true

# ---- local nodes admit themselves
unset REDLOCK_NODES
declare -a users=()
for number in {1..10}; do
    "$REDLOCK" run -q -w 30s "job$number" -- sh -c 'echo "$REDLOCK_FENCE" >"$0"' "$work/fence$number" &
    users+=($!)
done
failed=0
for pid in "${users[@]}"; do
    wait "$pid" || failed=$((failed + 1))
done
is 'ten first uses of local nodes at once all get their locks long before a quarantine would end' "$failed" 0
is 'with fences' "$(cat "$work"/fence* | grep -cE '^[0-9]+$')" 10
exits 'stopped in order' 0 local stop -q
exits 'they are new again and vote at once' 0 run -qn a -- true

done_testing

#!/usr/bin/env bash
# redlock update: FILTER makes the new value out of the old one, nobody's change is lost, and what fails leaves the key alone.
# shellcheck disable=SC2016,SC2317 # single quotes are for other shells; checks are called by name
. "$(dirname "$0")/lib.sh"

start_node 1
until_true is_up 1
export REDLOCK_NODES=unix://$work/n1.sock
add='read -r x; printf "%s" "$((x + 1))"'

# ---- the value
exits 'a key that is not there is made' 0 update counter -- sh -c 'cat; printf "%s %s" "$REDLOCK_EXISTS" "$REDLOCK_KEY"'
is 'FILTER is told that there is none' "$(node 1 GET counter)" 'no counter'
is 'in silence' "$out$err" ''
exits 'one that is there is changed' 0 update counter -- sh -c 'tr a-z A-Z; printf " %s" "$REDLOCK_EXISTS"'
is 'out of what it was' "$(node 1 GET counter)" 'NO COUNTER yes'
head -c 300000 /dev/urandom >"$work/bytes"
exits 'any bytes may be stored' 0 update bytes -- cat "$work/bytes"
exits 'and are given to FILTER' 0 update bytes -- tee "$work/again"
ok 'all of them' cmp "$work/bytes" "$work/again"
exits 'nothing printed is an empty value' 0 update bytes -- true
is 'and no missing one' "$(node 1 EXISTS bytes):$(node 1 STRLEN bytes)" '1:0'
node 1 SET ends 1 PX 600000 >/dev/null
exits 'a key with an expiry is changed' 0 update ends -- echo 2
ok 'and keeps it' below 1 "$(node 1 PTTL ends)"
exits 'with --json it says how often it tried' 0 update --json ends -- echo 3
ok 'in an object' has "$out" '"tries":1'
is 'and nothing else' "$err" ''
export REDLOCK_PASSWORD=secret
exits 'a password is not for FILTER' 0 update ends -- sh -c 'printf "%s" "${REDLOCK_PASSWORD-none}"'
is 'which does not see it' "$(node 1 GET ends)" none
unset REDLOCK_PASSWORD

# ---- others
several() {
    local i
    for ((i = 0; i < 25; i++)); do
        "$REDLOCK" update counter --tries 1000 -- sh -c "$add" || return
    done
}
node 1 DEL counter >/dev/null
adders=()
for _ in 1 2 3 4; do
    several 2>>"$work/adders" &
    adders+=("$!")
done
for adder in "${adders[@]}"; do
    wait "$adder"
    is 'each of several processes adds' "$?" 0
done
is 'and nothing is lost' "$(node 1 GET counter)" 100
exits 'another writer makes it try again' 0 update --json counter -- sh -c \
    "if [ ! -e '$work/once' ]; then touch '$work/once'; redis-cli -s '$work/n1.sock' INCRBY counter 1000 >/dev/null; fi; $add"
is 'with what that one wrote' "$(node 1 GET counter)" 1101
ok 'once more' has "$out" '"tries":2'
exits 'when tries run out it is busy' 75 update counter --tries 3 -- sh -c \
    "redis-cli -s '$work/n1.sock' INCR counter >/dev/null; echo no"
says 'which is said' 'counter was changed by others in each of 3 tries; it was left alone'
is 'and the value is theirs' "$(node 1 GET counter)" 1104

# ---- what fails
exits 'a FILTER that fails hands on its exit code' 7 update counter -- sh -c 'echo no; exit 7'
says 'and that is said' 'sh failed with 7; counter was left alone'
exits 'one that is killed too' 137 update counter -- sh -c 'kill -9 $$'
exits 'one that is not there' 127 update counter -- "$work/nowhere"
exits 'one that cannot be executed' 126 update counter -- "$work"
exits 'one that prints too much' 65 update counter -- head -c 4194305 /dev/zero
is 'and the key is left alone by all of them' "$(node 1 GET counter)" 1104
exits 'a FILTER need not read' 0 update bytes -- cat "$work/bytes"
exits 'whatever there is to be read' 0 update bytes -- true
node 1 RPUSH list a >/dev/null
exits 'a key that is no string is refused' 65 update list -- cat
says 'in words' 'the key holds no string'
node 1 SETRANGE large 4194304 x >/dev/null
exits 'a value that is too long is refused' 65 update large -- cat
says 'and that is said' 'longer than 4 MiB'
is 'and is left alone' "$(node 1 STRLEN large)" 4194305
exits 'a key of our own is refused' 64 update redlock-guard:epoch -- cat
exits 'a FILTER is needed' 64 update counter
says 'which is said' 'redlock update counter -- FILTER'
exits 'a KEY is needed' 64 update
exits 'one that is not empty' 64 update '' -- cat
exits 'no tries are none' 64 update --tries 0 counter -- cat
says 'and refused' 'is not a whole number from 1 on'
REDLOCK_NODES="unix://$work/n1.sock unix://$work/n2.sock" exits 'of several nodes one has to be chosen' 64 update counter -- cat
says 'and it is said how' '--nodes URL, or --node N'
REDLOCK_NODES="unix://$work/n2.sock unix://$work/n1.sock" exits 'by its number' 0 update counter --node 2 -- sh -c "$add"
is 'and is the one that is changed' "$(node 1 GET counter)" 1105
exits 'a number that there is not is refused' 64 update counter --node 2 -- cat
exits 'a node that is away is named' 69 update --nodes "unix://$work/n2.sock" counter -- cat
says 'with the reason' 'n2.sock'

# ---- a signal
start update counter -- sh -c "touch '$work/runs'; exec sleep 600"
until_true test -e "$work/runs"
filter=$(pgrep -P "$started")
kill -TERM "$started"
finish
is 'a signal ends it' "$code" 143
gone() { ! is_alive "$filter"; }
ok 'and FILTER with it' until_true gone
is 'the key is left alone' "$(node 1 GET counter)" 1105
done_testing

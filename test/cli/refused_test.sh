#!/usr/bin/env bash
# Nodes that refuse the credentials or the rights, and a server that is named twice: every command has the same exit code for it, says
# what is to be done, and does not wait for what time does not mend.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

# each CODE WORDS [COMMAND...]: every command that asks the nodes for something ends with it, and these, too.
each() {
    local expected=$1 words=$2 command
    shift 2
    for command in 'run a -- true' 'run -n a -- true' 'acquire --ttl 5s a' 'status' 'status a' 'list' 'watch' 'watch a' 'wait a' \
        'wait -n a' 'init --yes' 'elect a -- true' 'elect --observe a' 'once a --every 1h -- true' \
        'barrier a --parties 1' 'bench --for 300ms' "$@"; do
        # shellcheck disable=SC2086 # a command and its arguments
        timeout 30 "$REDLOCK" $command >"$work/out" 2>"$work/err" </dev/null
        code=$?
        err=$(<"$work/err")
        is "$command: $words" "$code" "$expected"
    done
}

start_nodes

# ---- one server under two URLs
fleet=$REDLOCK_NODES
# Three times the same: with another one beside it a lock may be won before the second URL has answered, which has no vote then.
REDLOCK_NODES="unix://$work/n1.sock unix://$work/./n1.sock unix://$work/././n1.sock"
each 78 'one server under two URLs is a wrong configuration'
exits 'status --check: no lock can be had' 69 status --check
ok 'which it says' has "$out" 'no lock can be had, one server is named twice'
exits 'so does doctor' 69 doctor
exits 'a lock that was held before is not lost by it' 79 release a --owner-token x
REDLOCK_NODES=$fleet

# ---- no password, and a wrong one
for number in 1 2 3 4 5; do node "$number" CONFIG SET requirepass sesame >/dev/null; done
each 77 'without the password it is refused' 'extend a --owner-token x' 'release a --owner-token x' \
    'break a --id 1 --yes'
exits 'it is said what to set' 77 run -n a -- true
says 'by its name' 'set REDLOCK_PASSWORD'
export REDLOCK_PASSWORD=wrong
exits 'a wrong one' 77 list
says 'is to be corrected' 'correct REDLOCK_PASSWORD'
ok 'and not to be set' lacks "$err" 'set REDLOCK_PASSWORD'
REDLOCK_PASSWORD=sesame
exits 'the right one works' 0 run -n a -- true
exits 'for list, too' 0 list
unset REDLOCK_PASSWORD
for number in 1 2 3 4 5; do redis-cli -s "$work/n$number.sock" -a sesame CONFIG SET requirepass '' >/dev/null 2>&1; done

# ---- rights: SCAN, and the keys of notes and barriers
rule=$(awk '/^```acl$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/security.md" | for_this_server)
for number in 1 2 3 4 5; do
    # shellcheck disable=SC2086 # the words of the rule
    node "$number" ACL SETUSER ${rule#user } >/dev/null
done
unset REDLOCK_NODES
printf '%s\n' "nodes = $fleet" 'prefix = lock:' 'user = locks' 'password_file = password' >"$work/acl.conf"
(umask 077 && sed -nE 's/.* >([^ ]+) .*/\1/p' <<<"$rule" >"$work/password")
# grant: types what the last redlock said, on each node.
grant() {
    local number line
    line=$(sed -n 's/^  fix     on each node: //p' "$work/err")
    for number in 1 2 3 4 5; do
        bash -c "redis-cli -s '$work/n$number.sock' $line" >/dev/null
    done
}
exits 'a name alone needs no right to SCAN' 0 wait a --config "$work/acl.conf"
for command in list watch; do
    exits "$command without the right to SCAN" 77 $command --config "$work/acl.conf"
    says 'is refused for its rights' 'the nodes refused the rights'
    ok 'not for its credentials' lacks "$err" REDLOCK_PASSWORD
    ok 'and told which' matches "$err" 'fix     on each node: ACL SETUSER locks .*\+scan'
done
grant
exits 'typed, it lists' 0 list --config "$work/acl.conf"
exits 'a barrier without rights ends' 77 barrier meet --parties 1 --config "$work/acl.conf"
ok 'and says which are missing' matches "$err" "fix     on each node: ACL SETUSER locks \\+hget \\+hgetall \\+hset \\+hdel '~redlock-mark:once:lock:\\*' '~redlock-mark:barrier:lock:\\*'"
grant
exits 'typed, it opens' 0 barrier meet --parties 1 --config "$work/acl.conf"
exits 'and once works' 0 once job --every 1h --config "$work/acl.conf" -- true

# ---- patterns of keys where there is no prefix: a node refuses any after ~*
for number in 1 2 3 4 5; do
    node "$number" ACL SETUSER bare on '>sesame' resetkeys +@all >/dev/null
done
printf '%s\n' "nodes = $fleet" 'user = bare' >"$work/bare.conf"
export REDLOCK_PASSWORD=sesame
exits 'a user that may touch nothing' 77 run -n a --config "$work/bare.conf" -- true
grant
exits 'what is printed can be typed' 0 run -n a --config "$work/bare.conf" -- true
done_testing

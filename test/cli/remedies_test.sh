#!/usr/bin/env bash
# What is said when something is wrong names the remedy: rights, credentials, TLS, other kinds of servers, wrong owners, new
# fleets, and misspelt keys. Nothing that is in order reads like a failure.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

value() { sed -n "s/^$1 //p" <<<"$out"; }

start_new_nodes

# ---- init is the remedy for a new fleet, and for no other
exits 'a new fleet' 69 run -n a -- true
ok 'may need an init' has "$err" 'redlock init'
admit
kill_nodes 1 2 3
for number in 1 2 3; do start_node "$number"; done
for number in 1 2 3; do until_true is_up "$number"; done
exits 'a fleet of which a part was restarted' 69 run -n a -- true
ok 'has to wait' matches "$err" '  fix     wait [0-9ms]+'
ok 'and must not be told of init' lacks "$err" 'redlock init'
exits 'nor in JSON' 69 run -n --json a -- true
ok 'either' lacks "$err" 'redlock init'
exits 'nor by status' 0 status
ok 'either' lacks "$out$err" 'redlock init'
admit

# ---- owners
exits 'a lock' 0 acquire mine --ttl 30s
owner=$(value owner)
ok 'is said to be of the caller, which is still there' has "$owner" "|pid=$$|"
exits 'a wrong owner' 79 release mine --owner-token "0123$owner"
says 'is told that another one has it' 'mine: not held by this owner: another one has it'
ok 'not that it had it' lacks "$err" 'any more'
ok 'and who' matches "$err" "  holder  .* pid $$ "
exits 'of a lock that is free' 79 extend never --owner-token "$owner" --ttl 5s
says 'it is said what may be the reason' 'never: not held by this owner: it ended, was released, or is another'
exits 'an extension' 0 extend mine --owner-token "$owner" --ttl 60s
ok 'prints what holds' matches "$out" $'^name mine\nttl_ms 60000\nvalidity_ms [0-9]+\nfence [0-9]+$'
exits 'one that is shorter than what is left' 0 extend mine --owner-token "$owner" --ttl 5s
ok 'shortens nothing, and says what holds' test "$(value ttl_ms)" -gt 30000
says 'and why' 'nothing was shortened'
exits 'its holder waits for itself' 75 acquire mine --ttl 5s -w 1200ms
ok 'and is told by whom it is held' has "$err" 'mine is held by'

# ---- names are those of the caller
exits 'a name with a prefix' 0 acquire box --prefix team: --ttl 30s
for command in 'run -n box --prefix team: true' 'run -w 600ms box --prefix team: true' 'status box --prefix team:' \
    'release box --prefix team: --owner-token x'; do
    # shellcheck disable=SC2086 # a command and its arguments
    try $command
    ok "is the same in $command" lacks "$out$err" 'team:box'
    ok 'and there' has "$out$err" box
done

# ---- rights
fleet=$REDLOCK_NODES
unset REDLOCK_NODES
node 1 ACL SETUSER locks on '>sesame' '~*' -@all +info +hello +client +eval +evalsha +time +get +mget +set +del +pttl +pexpire \
    +getrange >/dev/null
printf '%s\n' "node = unix://$work/n1.sock" 'prefix = lock:' 'user = locks' 'password_file = password' >"$work/acl.conf"
(umask 077 && echo sesame >"$work/password")
node 1 ACL SETUSER locks resetkeys '~lock:*' '~redlock-guard:*' '~redlock-fence:*' -eval -pexpire >/dev/null
exits 'rights that are missing' 77 run -n --config "$work/acl.conf" a -- true
says 'are called that' 'the nodes refused the rights'
ok 'and named, with the patterns of keys, in the words that mend it' matches "$err" \
    "  fix     on each node: ACL SETUSER locks \\+eval \\+pexpire .*'~redlock-line:\\{lock:\\*'"
ok 'nothing else is asked for' lacks "$err" '~redlock-guard'
remedy=$(sed -n 's/^  fix     on each node: //p' "$work/err")
bash -c "redis-cli -s '$work/n1.sock' $remedy" >/dev/null
exits 'typed, it works' 0 run -qn --config "$work/acl.conf" a -- true
node 1 ACL SETUSER locks resetkeys '~other:*' >/dev/null
exits 'keys that are not allowed' 77 run -n --config "$work/acl.conf" a -- true
ok 'are named with the prefix' has "$err" "ACL SETUSER locks '~lock:*' '~redlock-guard:epoch' '~redlock-guard:floor' '~redlock-guard:terms' '~redlock-guard:checked' '~redlock-guard:lines'"
echo wrong >"$work/password"
exits 'wrong credentials' 77 run -n --config "$work/acl.conf" a -- true
says 'are called that' 'the nodes refused the credentials'
ok 'with what to correct' has "$err" "  fix     correct the password in $work/password"

# ---- the configuration
for typo in nodez:node prefx:prefix max-ttl:max_ttl passwordfile:password_file require_node:require_nodes; do
    echo "${typo%:*} = x" >"$work/typo.conf"
    exits "${typo%:*} is no key" 78 status --config "$work/typo.conf"
    says 'the nearest one is named' "typo.conf:1: unknown key \"${typo%:*}\"; did you mean ${typo#*:}?"
done
echo 'colour = blue' >"$work/typo.conf"
exits 'a far one' 78 status --config "$work/typo.conf"
ok 'is not guessed at' lacks "$err" 'did you mean'

# ---- other kinds of servers
# serve_as NUMBER ARGUMENT...: a server on a port, which is in $port.
serve_as() {
    local number=$1
    shift
    port=$(free_port)
    redis-server "$@" --port "$port" --bind 127.0.0.1 --save '' --dir "$work" --logfile "$work/n$number.log" </dev/null >/dev/null 2>&1 &
    node_pids[number]=$!
    until_true redis-cli -p "$port" PING >/dev/null
}
serve_as 6 --cluster-enabled yes --cluster-config-file "$work/nodes.conf"
REDLOCK_NODES=redis://127.0.0.1:$port exits 'a node of a cluster' 69 run -n a -- true
says 'is called that, with what to name instead' 'name masters that stand alone'
: >"$work/sentinel.conf"
port=$(free_port)
redis-server "$work/sentinel.conf" --sentinel --port "$port" --bind 127.0.0.1 --dir "$work" --logfile "$work/n7.log" </dev/null >/dev/null 2>&1 &
node_pids[7]=$!
until_true redis-cli -p "$port" PING >/dev/null
REDLOCK_NODES=redis://127.0.0.1:$port exits 'a sentinel' 69 run -n a -- true
says 'is called that, with what to name instead' 'name the masters that it watches'
serve_as 8
REDLOCK_NODES=rediss://127.0.0.1:$port exits 'a node without TLS that is spoken to in it' 69 run -n a -- true
says 'is found out' 'redis://'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 30 \
    -subj /CN=node -addext subjectAltName=IP:127.0.0.1 2>/dev/null
port=$(free_port)
redis-server --port 0 --tls-port "$port" --tls-cert-file "$work/cert.pem" --tls-key-file "$work/key.pem" --tls-auth-clients no \
    --bind 127.0.0.1 --save '' --dir "$work" --logfile "$work/n9.log" </dev/null >/dev/null 2>&1 &
node_pids[9]=$!
if until_true redis-cli --tls --cacert "$work/cert.pem" -p "$port" PING >/dev/null; then
    REDLOCK_NODES=redis://127.0.0.1:$port exits 'a node with TLS that is not spoken to in it' 69 run -n a -- true
    says 'is found out' 'rediss://'
    REDLOCK_NODES=rediss://127.0.0.1:$port exits 'an authority that is not known' 69 run -n a -- true
    says 'is told where to name it' 'name its authority (tls_ca)'
    printf 'node = rediss://127.0.0.1:%s\ntls_ca = cert.pem\n' "$port" >"$work/tls.conf"
    exits 'and there it is' 0 init --yes -q --config "$work/tls.conf"
fi

# ---- what is in order
export REDLOCK_NODES=$fleet
try run -v ordinary -- true
ok 'a lock that a quorum granted does not read like a failure' lacks "$err" 'granted it, 3 needed'
done_testing

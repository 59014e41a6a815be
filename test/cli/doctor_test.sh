#!/usr/bin/env bash
# redlock doctor on fleets in which each fault is produced for real: it is found and named, and what it says mends it. The
# remedies are typed as they are printed, wherever they are commands.
# shellcheck disable=SC2016,SC2317 # single quotes are for other programs; checks are called by name
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/doctor.sh"

# ---- nothing is wrong
start_new_nodes
examine
is 'a new fleet can lock nothing' "$code" 69
finds 'and is quarantined' quarantine 1
ok 'until it is admitted' has "$fix" 'redlock init'
finds 'which leaves no margin' margin
admit
examine
is 'a fleet that is well' "$code" 0
ok 'in short' has "$out" '"summary":"5 nodes, 3 needed, 5 eligible: two more may fail"'
ok 'with all that is known of each' matches "$out" '"role":"master".*"latency_p50_us":[0-9]+.*"clock_offset_us":-?[0-9]+.*"memory_policy":"noeviction"'
exits 'for people' 0 doctor
ok 'first the summary' matches "$out" '^5 nodes, 3 needed, 5 eligible: two more may fail'
ok 'then each node' matches "$out" '  node 5 .*eligible  (redis|valkey) [0-9.]+ master  p50 [0-9.]+ms p99 [0-9.]+ms  clock [+-]'
ok 'what is to be known of all of them is said once' has "$out" 'note: nodes 1, 2, 3, 4 and 5: it keeps nothing over a restart'
ok 'at last the count' matches "$out" '0 errors, 0 warnings, [0-9]+ notes$'
is 'nothing is left at the nodes' "$(for number in 1 2 3 4 5; do node "$number" KEYS '*doctor*'; done)" ''
unset_nodes() { env -u REDLOCK_NODES "$REDLOCK" doctor >/dev/null 2>&1; }
unset_nodes
ok 'looking starts no nodes where none are configured' test ! -e "$REDLOCK_LOCAL_DIR"

# ---- memory and persistence
finds 'a node that keeps nothing' persistence 1
type_it
mended 'keeps something once that was typed' persistence 1
ok 'the others still do not' test -n "$(found persistence 2)"
export REDLOCK_NODES_BEFORE=$REDLOCK_NODES
REDLOCK_NODES=${REDLOCK_NODES/n2.sock/n2.sock?durable=yes}
examine
is 'one that is declared durable, and is not' "$code" 1
finds 'is found' persistence 2
type_it
mended 'until every command is written' persistence 2
REDLOCK_NODES=$REDLOCK_NODES_BEFORE
node 3 CONFIG SET maxmemory 100mb >/dev/null
node 3 CONFIG SET maxmemory-policy allkeys-lru >/dev/null
examine
is 'a node that evicts' "$code" 1
finds 'is found' eviction 3
type_it
mended 'and mended' eviction 3
node 3 CONFIG SET maxmemory "$(($(node 3 INFO memory | tr -d '\r' | sed -n 's/^used_memory://p') * 11 / 10))" >/dev/null
examine
finds 'memory that is nearly full' memory 3
type_it
mended 'can be given more' memory 3

# ---- roles
node 1 REPLICAOF 127.0.0.1 1 >/dev/null
examine
finds 'a replica' replica 1
fix=${fix##*: }
type_it
examine
ok 'can become a master of its own' lacks_finding replica 1
fresh_nodes
port=$(free_port)
redis-server --port "$port" --bind 127.0.0.1 --cluster-enabled yes --cluster-config-file "$work/nodes.conf" --save '' --dir "$work" \
    --logfile "$work/n6.log" </dev/null >/dev/null 2>&1 &
node_pids[6]=$!
until_true redis-cli -p "$port" PING >/dev/null
REDLOCK_NODES="$REDLOCK_NODES redis://127.0.0.1:$port" examine
finds 'a node of a cluster' cluster 6
ok 'is told what to name instead' has "$fix" 'cluster-enabled no'
finds 'an even number of nodes' node-count
kill_nodes 6
: >"$work/sentinel.conf"
redis-server "$work/sentinel.conf" --sentinel --port "$port" --bind 127.0.0.1 --dir "$work" --logfile "$work/n6.log" </dev/null >/dev/null 2>&1 &
node_pids[6]=$!
until_true redis-cli -p "$port" PING >/dev/null
REDLOCK_NODES="$REDLOCK_NODES redis://127.0.0.1:$port" examine
finds 'a sentinel' sentinel 6
fix=${fix#*: } fix=${fix% lists*}
ok 'is asked which masters it watches' type_it
kill_nodes 6

# ---- reaching them
kill -STOP "${node_pids[2]}"
examine
is 'a node that is frozen' "$code" 1
finds 'is found' frozen 2
ok 'with what to do' has "$fix" 'kill -CONT'
kill -CONT "${node_pids[2]}"
mended 'and mended by it' frozen 2
kill_nodes 2
examine
finds 'a node that is gone' unreachable 2
kill_nodes 4
examine
is 'two that are gone' "$code" 1
finds 'leave no margin' margin
kill_nodes 5
examine
is 'without a quorum no lock can be had' "$code" 69
fresh_nodes
REDLOCK_NODES="$REDLOCK_NODES unix://$work/./n1.sock unix://$work/../$(basename "$work")/n2.sock" examine
is 'a server under two URLs can lock nothing' "$code" 69
finds 'and is found' duplicate
ok 'with what to do' has "$fix" 'remove one of the two URLs'
mended 'which mends it' duplicate
REDLOCK_NODES=unix://$work/n1.sock examine
finds 'a single node' node-count
is 'is a warning' "$code" 1
kill -9 "${node_pids[1]}"
wait "${node_pids[1]}" 2>/dev/null
start_node 1
until_true is_up 1
examine
finds 'a node that was restarted' quarantine 1
ok 'has to be told so' has "$out" 'from when a lock is next asked for'
type_it
examine
finds 'once a lock was asked for' quarantine 1
ok 'it has to wait' matches "$fix" '^wait [0-9ms]+$'

# ---- rights
fresh_nodes
rule=$(awk '/^```acl$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/security.md")
case $(redis-server --version) in
*v=6.0.*) rule=${rule/ resetchannels &redlock:\*/} ;; # it knows no rights for channels
esac
for number in 1 2 3 4 5; do
    # shellcheck disable=SC2086 # the words of the rule
    node "$number" ACL SETUSER ${rule#user } >/dev/null
done
printf '%s\n' "nodes = $REDLOCK_NODES" 'prefix = lock:' 'user = locks' 'password_file = password' >"$work/acl.conf"
(umask 077 && sed -nE 's/.* >([^ ]+) .*/\1/p' <<<"$rule" >"$work/password")
as_locks() { env -u REDLOCK_NODES "$REDLOCK" "$@" --config "$work/acl.conf"; }
examine_acl() {
    as_locks doctor --json >"$work/found.json" 2>"$work/err"
    code=$?
    out=$(<"$work/found.json")
}
examine_acl
is 'the documented rule is enough' "$code" 0
finds 'notifications are advised' advisable-rights 1
type_it
examine_acl
ok 'and can be allowed' lacks_finding advisable-rights 1
if grep -q '&' <<<"$rule"; then
    node 1 ACL SETUSER locks resetchannels >/dev/null
    examine_acl
    finds 'channels are named' advisable-rights 1
    ok 'as they are allowed' matches "$fix" "ACL SETUSER locks '&redlock:\*'$"
    type_it
    examine_acl
    ok 'and can be' lacks_finding advisable-rights 1
fi
node 2 ACL SETUSER locks -zadd -evalsha -get >/dev/null
node 3 ACL SETUSER locks resetkeys '~lock:*' '~redlock-guard:*' >/dev/null
node 4 ACL SETUSER locks -info >/dev/null
examine_acl
is 'missing rights are warnings' "$code" 1
finds 'commands are named' rights 2
ok 'each of them' matches "$fix" 'ACL SETUSER locks \+evalsha \+get \+zadd$'
type_it
finds 'patterns of keys are named' rights 3
ok 'each of them' has "$fix" "'~redlock-fence:{lock:*' '~redlock-fence:lock:*' '~redlock-line:{lock:*' '~redlock-line::lock:*'"
type_it
finds 'INFO is named' rights 4
type_it
examine_acl
ok 'typed, all of them are there' lacks_finding rights
is 'and doctor is content' "$code" 0
# words_of TEXT SIGN: the words that begin with it, in their order.
words_of() { grep -oE "[$2][^ ']+" <<<"$1" | sort | paste -sd' '; }
node 5 ACL SETUSER locks -@all >/dev/null
examine_acl
finds 'a user that may say nothing' rights 5
needed=$fix
type_it
finds 'and will not be told' advisable-rights 5
ok 'that it has the lock' matches "$fix" '\+publish.*\+subscribe'
is 'lacks each command of the documented rule, and no other' "$(words_of "$needed +publish +subscribe" +)" "$(words_of "$rule" +)"
type_it
node 5 ACL SETUSER locks resetkeys >/dev/null
examine_acl
finds 'one that may touch nothing' rights 5
is 'lacks each pattern of it, and no other' "$(words_of "$fix" '~')" "$(words_of "$rule" '~')"
type_it
examine_acl
is 'typed, doctor is content again' "$code" 0
echo wrong >"$work/password"
examine_acl
finds 'wrong credentials' credentials 1
ok 'are told where to set them' has "$fix" REDLOCK_PASSWORD
is 'nothing can be locked' "$code" 69

# ---- the guard's own keys
node 5 DEL redlock-guard:floor >/dev/null
node 5 LPUSH redlock-guard:floor x >/dev/null
examine
finds 'something else in a key of the guard' side-keys 5
type_it
mended 'can be removed' side-keys 5

# ---- clocks
fresh_nodes
skewed=$work/skewed
mkdir "$skewed"
printf '%s\n' 'port 0' "unixsocket $work/n1.sock" 'save ""' "dir $skewed" "logfile $work/n1.log" >"$skewed/redis.conf"
kill_nodes 1
LD_PRELOAD=$BUILD/test/clock_shim.so redis-server "$skewed/redis.conf" </dev/null >/dev/null 2>&1 &
node_pids[1]=$!
until_true is_up 1
admit
set_clock "$skewed" 200000000 0
examine
is 'a clock that is off' "$code" 1
finds 'is found' clock 1
ok 'with what to do' has "$fix" 'timedatectl set-ntp true'
set_clock "$skewed" 0 0
examine
ok 'and fine once it is set' lacks_finding clock 1
set_clock "$skewed" 0 100000
examine
finds 'a clock that runs too fast' clock-rate 1
set_clock "$skewed" 0 0

# ---- terms
fresh_nodes
printf '%s\n' "nodes = $REDLOCK_NODES" 'max_ttl = 5m' >"$work/long.conf"
"$REDLOCK" run -q a -- true
examine
ok 'one max_ttl is in order' lacks_finding max-ttl
env -u REDLOCK_NODES "$REDLOCK" run -q --config "$work/long.conf" a -- true
examine
is 'clients that differ' "$code" 1
finds 'are found' max-ttl
printf '%s\n' "nodes = $REDLOCK_NODES" "${fix%,*}" >"$work/same.conf"
env -u REDLOCK_NODES "$REDLOCK" doctor --json --config "$work/same.conf" >"$work/found.json"
ok 'the line that is given fixes it' lacks_finding max-ttl

# ---- TLS
ec='ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
# shellcheck disable=SC2086 # several options
openssl req -x509 -newkey $ec -keyout "$work/ca.key" -out "$work/ca.pem" -days 400 -subj /CN=authority 2>/dev/null
# shellcheck disable=SC2086
openssl req -new -newkey $ec -keyout "$work/key.pem" -out "$work/node.csr" -subj /CN=node 2>/dev/null
echo subjectAltName=IP:127.0.0.1 >"$work/extensions"
# sign DAYS: the node's certificate, for so long.
sign() {
    openssl x509 -req -in "$work/node.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days "$1" \
        -extfile "$work/extensions" -out "$work/cert.pem" 2>/dev/null
}
sign 5
port=$(free_port)
redis-server --port 0 --tls-port "$port" --tls-cert-file "$work/cert.pem" --tls-key-file "$work/key.pem" --tls-auth-clients no \
    --tls-ca-cert-file "$work/ca.pem" --bind 127.0.0.1 --save '' --dir "$work" --logfile "$work/n7.log" </dev/null >/dev/null 2>&1 &
node_pids[7]=$!
until_true redis-cli --tls --cacert "$work/ca.pem" -p "$port" PING >/dev/null
printf 'node = rediss://127.0.0.1:%s\ntls_ca = ca.pem\n' "$port" >"$work/tls.conf"
examine_tls() { env -u REDLOCK_NODES "$REDLOCK" doctor --json --config "$work/tls.conf" >"$work/found.json" 2>"$work/err"; }
examine_tls
finds 'a certificate that ends soon' certificate 1
sign 365
fix=${fix#*: } fix=${fix/FILE/$work/cert.pem}
type_it
examine_tls
ok 'is renewed as it is said' lacks_finding certificate || sed 's/^/# /' "$work/found.json" "$work/typed"
printf 'node = rediss://127.0.0.1:%s\n' "$port" >"$work/tls.conf"
examine_tls
finds 'an authority that is not known' tls 1
printf 'node = redis://127.0.0.1:%s\n' "$port" >"$work/tls.conf"
examine_tls
ok 'a node that wants TLS is found out' has "$(<"$work/found.json")" 'if it speaks TLS, write rediss://'

# ---- local nodes
unset REDLOCK_NODES
try doctor
is 'without nodes there is nothing to examine' "$code" 69
"$REDLOCK" local start -q
examine
is 'local nodes are a warning' "$code" 1
finds 'for their locks reach no other machine' local-nodes
ok 'with the line that refuses them' has "$fix" 'require_nodes = yes'
done_testing

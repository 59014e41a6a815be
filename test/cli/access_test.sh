#!/usr/bin/env bash
# redlock doctor where nodes do not let a client in, or not to all that it needs: rights, credentials, TLS. The remedies are typed as they
# are printed. doctor_test.sh has the findings of everyday.
# shellcheck disable=SC2016,SC2317 # single quotes are for other programs; checks are called by name
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/doctor.sh"

# ---- rights
start_nodes
rule=$(awk '/^```acl$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/security.md")
rule=$(for_this_server <<<"$rule")
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
finds 'what notes and barriers need is advised' mark-rights 1
type_it
examine_acl
ok 'and can be allowed, too' lacks_finding mark-rights 1
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
cp "$work/password" "$work/right"
echo wrong >"$work/password"
examine_acl
finds 'wrong credentials' credentials 1
ok 'are told where they come from' has "$fix" "correct the password in $work/password"
is 'nothing can be locked' "$code" 69
cp "$work/right" "$work/password"
examine_acl
is 'corrected, doctor is content' "$code" 0
for number in 1 2 3 4 5; do node "$number" CONFIG SET requirepass sesame >/dev/null; done
examine
finds 'no credentials at all' credentials 1
ok 'are told where to set them' matches "$fix" '^set REDLOCK_PASSWORD'
REDLOCK_PASSWORD=sesame examine
is 'set, doctor is content' "$code" 0
for number in 1 2 3 4 5; do
    redis-cli -s "$work/n$number.sock" -a sesame CONFIG SET requirepass '' >/dev/null 2>&1
    node "$number" ACL SETUSER bare on '>sesame' '~lock:*' +@all >/dev/null
done
bare=${REDLOCK_NODES//unix:\/\//unix:\/\/bare:sesame@}
REDLOCK_NODES=$bare examine
for number in 1 2 3 4 5; do
    finds 'a user without prefix that may touch some keys only' rights "$number"
    type_it
done
REDLOCK_NODES=$bare examine
ok 'may touch all, once that was typed' lacks_finding rights
is 'and doctor is content' "$code" 0

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
printf 'tls_ca = ca.pem\nnode = redis://127.0.0.1:%s\n' "$port" >"$work/tls.conf"
REDLOCK_NODES=redis://127.0.0.1:$port
examine_with --config "$work/tls.conf"
finds 'a node that wants TLS is found out' tls 1
rewrite
REDLOCK_NODES=$REDLOCK_NODES "$REDLOCK" init -qy --config "$work/tls.conf"
examine_with --config "$work/tls.conf"
ok 'and spoken to as it is said' lacks_finding tls
plain_port=$(free_port)
redis-server --port "$plain_port" --bind 127.0.0.1 --save '' --dir "$work" --logfile "$work/n8.log" </dev/null >/dev/null 2>&1 &
node_pids[8]=$!
until_true redis-cli -p "$plain_port" PING >/dev/null
REDLOCK_NODES=rediss://127.0.0.1:$plain_port
examine
finds 'so is one that does not speak it' tls 1
rewrite
is 'and its URL is corrected as it is said' "$REDLOCK_NODES" "redis://127.0.0.1:$plain_port"
admit
mended 'which mends it' tls 1
done_testing

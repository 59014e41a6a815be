#!/usr/bin/env bash
# Where nodes and settings come from: the order of the sources, configuration files, passwords, and fleets that are wrong.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
good=$REDLOCK_NODES
unset REDLOCK_NODES
nowhere=unix:///nowhere/redlock-test.sock
mkdir -p "$XDG_CONFIG_HOME/redlock"
users=$XDG_CONFIG_HOME/redlock/redlock.conf

# lines WORD...: a configuration with one line for each word.
lines() {
    printf '%s\n' "$@"
}
# node_lines: one "node =" line for each good node.
node_lines() {
    printf 'node = unix://%s\n' "$work"/n{1,2,3,4,5}.sock
}

# ---- the order
exits '--nodes names the nodes' 0 run --nodes "$good" a -- true
exits 'separated by commas too' 0 run --nodes "${good// /,}" a -- true
REDLOCK_NODES=$good exits 'REDLOCK_NODES names them' 0 run a -- true
REDLOCK_NODES=$nowhere exits '--nodes goes before REDLOCK_NODES' 0 run --nodes "$good" a -- true
{ lines '# a comment' '' 'ttl = 7s  # another'; node_lines; } >"$work/good.conf"
lines "node = $nowhere" >"$work/bad.conf"
exits '--config names them' 0 run --config "$work/good.conf" a -- sh -c 'echo $REDLOCK_TTL_MS'
is 'and sets the TTL' "$out" 7000
REDLOCK_NODES=$good exits 'REDLOCK_NODES goes before --config' 0 run --config "$work/bad.conf" a -- true
node_lines >"$users"
exits 'the file of the user names them' 0 run a -- true
exits '--config goes before it' 69 run -qn --config "$work/bad.conf" a -- true
lines 'ttl = 9s' >"$users"
exits 'a file that nobody named is not read when the nodes are known' 0 run --nodes "$good" a -- sh -c 'echo $REDLOCK_TTL_MS'
is 'so the TTL is the usual one' "$out" 15000
lines "nodes = ${good% }" 'prefix = team:' >"$users"
count_keys='for socket in "$0"/n?.sock; do redis-cli -s "$socket" EXISTS "$1"; done | grep -c 1'
exits 'nodes may stand in one line' 0 run a -- sh -c "$count_keys" "$work" team:a
ok 'and a prefix is put before names' below 3 "$out"
exits '--prefix goes before it' 0 run --prefix other: a -- sh -c "$count_keys" "$work" other:a
ok 'likewise' below 3 "$out"
rm "$users"
{ node_lines; lines 'mode = guarded' 'mode = plain'; } >"$work/twice.conf"
exits 'of a key that comes twice the first one counts' 0 run --config "$work/twice.conf" a -- sh -c 'test -n "$REDLOCK_FENCE"'

# ---- files that are wrong
# wrong NAME CONTENT WORDS: this content is refused with file, line and words.
wrong() {
    printf '%s\n' "$2" >"$work/wrong.conf"
    exits "$1" 78 status --config "$work/wrong.conf"
    says 'file, line and what is wrong are named' "$3"
}
wrong 'an unknown key is wrong configuration' $'node = a:1\ncolour = blue' 'wrong.conf:2: unknown key "colour"'
wrong 'a line without = too' 'node a:1' 'wrong.conf:1:'
wrong 'an empty value too' $'\n\nnode =' 'wrong.conf:3: node'
wrong 'a bad duration too' 'ttl = soon' 'wrong.conf:1: ttl "soon"'
wrong 'a TTL of zero too' 'ttl = 0' 'too short'
wrong 'a bad number too' 'drift_ppm = -3' 'drift_ppm'
wrong 'a password file without a name too' 'password_file =' 'wrong.conf:1: password_file is empty'
wrong 'a missing password file too' $'node = a:1\npassword_file = missing' 'wrong.conf:2: password_file'
says 'with the reason' 'No such file'
wrong 'a file without nodes too' 'ttl = 5s' 'names no nodes'
printf 'node = a:1\0b:2\n' >"$work/wrong.conf"
exits 'a NUL is wrong configuration' 78 status --config "$work/wrong.conf"
says 'and its line is named' 'wrong.conf:1:'
head -c 1100000 /dev/zero | tr '\0' '#' >"$work/wrong.conf"
exits 'so is a file that is far too large' 78 status --config "$work/wrong.conf"
says 'which is said' 'too large'
exits 'a missing file is wrong configuration' 78 status --config "$work/missing.conf"
says 'and is named' 'missing.conf'
ok 'with what to do' has "$err" 'fix     name a file that you may read'
REDLOCK_NODES='' exits 'an empty REDLOCK_NODES does not silently mean this machine only' 78 status
exits 'nor does an empty --nodes' 64 status --nodes ' '

# ---- URLs and fleets that are wrong
for url in redis:// redis://host:0 redis://host:99999 http://host unix://relative 'redis://[::1' redis://host/x \
    'redis://a b:x'; do
    exits "the URL $url is wrong configuration" 78 run -n --nodes "$url" a -- true
done
exits 'forty nodes are too many' 78 run -n --nodes "$(printf 'host:%d ' {7001..7040})" a -- true
exits 'the same node twice is wrong' 78 run -n --nodes "$nowhere,$nowhere,$nowhere" a -- true
exits 'an even number works' 0 run --nodes "$(printf 'unix://%s ' "$work"/n{1,2,3,4}.sock)" a -- true
says 'but is warned of' 'warning: 4 nodes'
exits 'a single node works' 0 run --nodes "unix://$work/n1.sock" a -- true
says 'but is warned of' 'warning: a single node'
exits '-q silences it' 0 run -q --nodes "unix://$work/n1.sock" a -- true
is 'wholly' "$err" ''
exits 'three nodes are nothing to warn of' 0 run --nodes "$(printf 'unix://%s ' "$work"/n{1,2,3}.sock)" a -- true
is 'so nothing is said' "$err" ''

# ---- passwords
for number in 1 2 3 4 5; do
    node "$number" CONFIG SET requirepass sesame >/dev/null
done
with_password() { # the node URLs with this password in them
    printf "unix://:$1@%s " "$work"/n{1,2,3,4,5}.sock
}
exits 'a missing password is told from a missing quorum' 77 run -n --nodes "$good" a -- true
says 'as refused' 'refused the credentials'
says 'with the way out' 'REDLOCK_PASSWORD'
REDLOCK_PASSWORD=wrong exits 'a wrong one too' 77 run -n --nodes "$good" a -- true
REDLOCK_PASSWORD=wrong exits 'even when waiting for ever' 77 run --nodes "$good" a -- true
REDLOCK_PASSWORD=wrong exits 'status says the same' 77 status --nodes "$good"
REDLOCK_PASSWORD=wrong exits 'and release' 77 release --nodes "$good" a --owner-token x
REDLOCK_PASSWORD=sesame exits 'REDLOCK_PASSWORD carries it' 0 run --nodes "$good" a -- true
REDLOCK_NODES=$(with_password sesame) exits 'so does a URL in REDLOCK_NODES' 0 run a -- true
REDLOCK_PASSWORD=sesame exits 'a redlock in CMD has none of them' 77 run --nodes "$good" a -- "$REDLOCK" run --nodes "$good" b -- true
says 'and is told how to get it' '--pass-credentials'
REDLOCK_PASSWORD=sesame exits 'with that it has' 0 run --pass-credentials --nodes "$good" a -- "$REDLOCK" run --nodes "$good" b -- true
exits 'one in --nodes is refused' 64 run --nodes "$(with_password sesame)" a -- true
says 'with the places for it' 'REDLOCK_PASSWORD'
ok 'and not shown' lacks "$err$out" sesame
exits 'one without a user is found too' 64 status --nodes 'redis://:sesame@host'
exits 'one without a scheme too' 64 status --nodes 'me:sesame@host:6379'
exits 'one with a # in it too' 64 status --nodes 'redis://:open#sesame@host'

{ node_lines; lines 'password_file = secret'; } >"$work/pass.conf"
echo sesame >"$work/secret"
chmod 600 "$work/secret"
exits 'a password file carries it' 0 run --config "$work/pass.conf" a -- true
is 'and nothing is said' "$err" ''
chmod 644 "$work/secret"
exits 'a password file that everybody can read works' 0 run --config "$work/pass.conf" a -- true
says 'but is warned of' 'can be read by everybody'
lines "nodes = $(with_password sesame)" >"$work/url.conf"
chmod 644 "$work/url.conf"
exits 'so does a configuration with a password in it' 0 run --config "$work/url.conf" a -- true
says 'with the same warning' 'url.conf carries a password'
if [ "$(id -u)" -eq 0 ]; then
    chmod 640 "$work/url.conf"
    exits 'what root lets its group read is meant so' 0 run --config "$work/url.conf" a -- true
    is 'and nothing is said' "$err" ''
else
    chmod 640 "$work/url.conf"
    exits 'so does one that our group can read' 0 run --config "$work/url.conf" a -- true
    says 'with a warning too' 'can be read by its group'
fi
chmod 600 "$work/url.conf"
exits 'unless only we can read it' 0 run --config "$work/url.conf" a -- true
is 'then nothing is said' "$err" ''
REDLOCK_NODES=$(with_password sesame) exits 'status shows the nodes' 0 status
ok 'without the password' lacks "$out" sesame
REDLOCK_NODES=$(with_password wrong) exits 'errors name the nodes' 77 run -nv a -- true
ok 'without the password' lacks "$err" wrong@

# ---- TLS
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
redis-server --port 0 --tls-port "$port" --bind 127.0.0.1 --save '' --dir "$work" --tls-auth-clients yes \
    --tls-cert-file "$work/cert.pem" --tls-key-file "$work/key.pem" --tls-ca-cert-file "$work/cert.pem" \
    >"$work/tls.log" 2>&1 &
node_pids[8]=$!
until_true grep -q 'Ready to accept' "$work/tls.log"
tls_lines=("node = rediss://localhost:$port" "tls_ca = $work/cert.pem")
lines "${tls_lines[@]}" "tls_cert = $work/cert.pem" "tls_key = $work/key.pem" >"$work/tls.conf"
"$REDLOCK" init --yes -q --config "$work/tls.conf"
exits 'a node is reached over TLS, with a client certificate' 0 run -q --config "$work/tls.conf" a -- true
mkdir "$work/tls"
cp "$work/cert.pem" "$work/key.pem" "$work/tls"
lines "${tls_lines[0]}" 'tls_ca = tls/cert.pem' 'tls_cert = tls/cert.pem' 'tls_key = tls/key.pem' >"$work/tls.conf"
exits 'its files are looked for from the folder of the configuration' 0 run -q --config "$work/tls.conf" a -- true
is 'wherever we are' "$(cd / && "$REDLOCK" run -q --config "$work/tls.conf" a -- echo ran)" ran
is 'also when that has no folder in its name' "$(cd "$work" && "$REDLOCK" run -q --config tls.conf a -- echo ran)" ran
lines "${tls_lines[0]}" 'tls_ca = tls/missing.pem' >"$work/tls.conf"
exits 'one that is missing is wrong configuration' 78 run -n --config "$work/tls.conf" a -- true
lines "${tls_lines[@]}" >"$work/tls.conf"
exits 'without the certificate it refuses us' 69 run -qn --config "$work/tls.conf" a -- true
exits 'without its CA we refuse it' 69 run -n --nodes "rediss://localhost:$port" a -- true
says 'and say so' certificate
lines "${tls_lines[@]/localhost/127.0.0.1}" "tls_cert = $work/cert.pem" "tls_key = $work/key.pem" >"$work/tls.conf"
exits 'its name is checked' 69 run -qn --config "$work/tls.conf" a -- true

done_testing

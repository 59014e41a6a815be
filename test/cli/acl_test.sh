#!/usr/bin/env bash
# The access rule in docs/security.md is enough for everything the command does, in both modes, and has nothing to spare.
# One node is its own quorum, so one server will do.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

rule=$(awk '/^```acl$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/security.md")
ok 'the document has one rule' matches "$rule" '^user locks on >[^[:space:]]+ [^'$'\n'']*$'
rule=$(for_this_server <<<"$rule")
channels=$(grep -oE '&[^ ]+' <<<"$rule")
password=$(sed -nE 's/.* >([^ ]+) .*/\1/p' <<<"$rule")

# The test itself is the default user, by whom rights are taken away and given back.
printf '%s\n' "$rule" 'port 0' "unixsocket $work/n1.sock" 'unixsocketperm 700' 'save ""' "dir $work" \
    "logfile $work/n1.log" >"$work/server.conf"
redis-server "$work/server.conf" </dev/null >/dev/null 2>&1 &
node_pids[1]=$!
until_true is_up 1

for mode in guarded plain; do
    printf '%s\n' "node = unix://$work/n1.sock" "mode = $mode" 'prefix = lock:' 'user = locks' \
        'password_file = password' >"$work/$mode.conf"
done
printf '%s\n' "$password" >"$work/password"
chmod 600 "$work/password"

# works MODE: everything that talks to a node, with names of both shapes, which are new each time.
times=0
works() {
    local name
    times=$((times + 1))
    step status --config "$work/$1.conf" || return
    for name in "parcel-$times" "tag{ged}-$times"; do
        step acquire --config "$work/$1.conf" --ttl 5s --nonblock "$name" || return
        REDLOCK_OWNER=$(sed -n 's/^owner //p' <<<"$out")
        export REDLOCK_OWNER
        step extend --config "$work/$1.conf" --ttl 20s "$name" || return
        step status --config "$work/$1.conf" "$name" && has "$out" 'is held by' || return
        step release --config "$work/$1.conf" "$name" || return
        unset REDLOCK_OWNER
    done
    # Several renewals: the later ones name the script and do not carry it.
    step run --config "$work/$1.conf" --nonblock --ttl 30s --renew 50ms "again-$times" -- sleep 0.3 && lacks "$err" renewed || return
    if [ "$1" = guarded ]; then
        lines_work "{lock:line-$times}" && lines_work ":lock:tag{ged}-line-$times"
    fi
}

# script NAME KEYS...: calls one of ours as that user; its arguments are in the array argv.
script() {
    local text name=$1
    shift
    text=$("$SOURCE/tools/embed-lua" --text "$SOURCE/src/wire/lua/$name.lua")
    out=$(redis-cli -s "$work/n1.sock" --user locks --pass "$password" --no-auth-warning EVAL "$text" $# "$@" "${argv[@]}" 2>&1)
    lacks "$out" NOPERM && lacks "$out" ermission && lacks "$out" "can't"
}

# lines_work LOCK: the line of a lock, with LOCK as it stands in the keys, and what can happen in it: one has the lock, another stands in line,
# is seen there, asks again, is handed the lock, gives it back and leaves nothing.
lines_work() {
    local line=redlock-line:$1 lock epoch first=0123456789abcdef0123456789abcdef second=fedcba9876543210fedcba9876543210
    lock=${1#[:\{]}
    lock=${lock%\}}
    epoch=$(node 1 GET redlock-guard:epoch)
    # ask RANDOM TICKET / give_back RANDOM
    ask() {
        argv=("$1|pid=1" 5000 1 "$epoch" 9007199254740991 "$2 0 3000 ")
        script ask "$lock"
    }
    give_back() {
        argv=("$1|pid=1")
        script hand_on "$lock"
    }
    ask "$first" 1 && ask "$second" 2 && ask "$second" 2 || return
    argv=(32)
    script line "$line:line" "$line:waiting" && has "$out" '|pid=1' || return
    give_back "$first" && equals "$(node 1 GET "$lock")" "$second|pid=1" || return
    give_back "$second" && equals "$(node 1 EXISTS "$lock" "$line:waiters" "$line:order")" 0
}
step() {
    try "$@"
    [ "$code" -eq 0 ]
}
fails() { ! works "$1" || ! works "$2"; }

step init --yes --config "$work/guarded.conf"
ok 'with exactly this rule the operator can admit the nodes' equals "$code" 0
ok 'guarded locks work' works guarded
ok 'plain locks work' works plain
try acquire --config "$work/guarded.conf" --prefix other: --ttl 5s parcel
is 'keys with another prefix are refused for want of rights' "$code" 77

# is_told: a waiter hears from the node that it was handed the lock.
waits() { [ "$(node 1 ZCARD 'redlock-line:{lock:handed}:waiters')" = 1 ]; }
is_told() {
    local waiter
    step acquire --config "$work/guarded.conf" --ttl 60s --nonblock handed || return
    owner=$(sed -n 's/^owner //p' <<<"$out")
    "$REDLOCK" run -v --config "$work/guarded.conf" handed -- true >/dev/null 2>"$work/told" &
    waiter=$!
    started_pids+=("$waiter")
    until_true waits
    REDLOCK_OWNER=$owner step release --config "$work/guarded.conf" handed || return
    wait "$waiter" && grep -q 'handed over' "$work/told"
}
says_so() { ! is_told && grep -q 'cannot tell when it hands a lock over' "$work/told" && step run --config "$work/guarded.conf" -n handed -- true; }
ok 'a waiter is told that it has the lock' is_told
node 1 ACL SETUSER locks -subscribe >/dev/null
ok '+subscribe is needed for that, and for nothing else' says_so
node 1 ACL SETUSER locks +subscribe -publish >/dev/null
is_not_told() { ! is_told && step run --config "$work/guarded.conf" -n handed -- true; }
ok '+publish too' is_not_told
node 1 ACL SETUSER locks +publish >/dev/null
if [ -n "$channels" ]; then
    node 1 ACL SETUSER locks resetchannels >/dev/null
    ok "$channels too" says_so
    node 1 ACL SETUSER locks "$channels" >/dev/null
else
    ok 'rights for channels # SKIP this server knows none' true
fi
ok 'with all of them it is told again' is_told

mapfile -t rights < <(grep -oE '\+[a-z]+' <<<"$rule" | grep -vxE '\+(publish|subscribe)')
mapfile -t patterns < <(grep -oE '~[^ ]+' <<<"$rule")
for right in "${rights[@]}"; do
    node 1 ACL SETUSER locks "-${right#+}" >/dev/null
    ok "$right is needed" fails guarded plain
    node 1 ACL SETUSER locks "$right" >/dev/null
done
for pattern in "${patterns[@]}"; do
    mapfile -t others < <(printf '%s\n' "${patterns[@]}" | grep -vxF -- "$pattern")
    node 1 ACL SETUSER locks resetkeys "${others[@]}" >/dev/null
    ok "$pattern is needed" fails guarded plain
done
node 1 ACL SETUSER locks resetkeys "${patterns[@]}" >/dev/null
ok 'and with all of them it works again' works guarded
for right in info mget; do
    node 1 ACL SETUSER locks "-$right" >/dev/null
done
ok 'plain mode does without info and mget' works plain
done_testing

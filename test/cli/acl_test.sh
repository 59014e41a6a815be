#!/usr/bin/env bash
# The access rule in docs/security.md is enough for everything the command does, in both modes, and has nothing to spare.
# One node is its own quorum, so one server will do.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

rule=$(awk '/^```acl$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/security.md")
ok 'the document has one rule' matches "$rule" '^user locks on >[^[:space:]]+ [^'$'\n'']*$'
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

# lines_work LOCK: the line of a lock, with LOCK as it stands in the keys, and everything that can happen in it: who is first
# comes, another waits behind him, is told so, the first dies, and the other has the lock and leaves nothing.
lines_work() {
    local line=redlock-line:$1 lock epoch id=0123456789abcdef0123456789abcdef
    local -a guard
    lock=${1#[:\{]}
    lock=${lock%\}}
    epoch=$(node 1 GET redlock-guard:epoch)
    guard=("$lock" "redlock-fence:${1#:}" redlock-guard:epoch redlock-guard:floor)
    fair() {
        argv=(owner 5000 1 "$epoch" 9007199254740991 "$1" "$2" 5000 "$3" '|pid=1' 0)
        script acquire_fair "${guard[@]}" "$line:line" "$line:state" "$line:$1"
    }
    fair "$id" 1 0 || return # granted
    fair "$id" 2 0 || return # denied
    fair other 3 0 || return
    node 1 DEL "$lock" >/dev/null
    fair other 3 0 || return # free, but offered to the first; without grace, so that he is skipped
    fair other 3 0 || return
    argv=("$id")
    script leave "$line:line" "$line:state" "$line:$id" || return
    argv=("$id" 5000 1 1 '|pid=1')
    script present "$line:waiting" "$line:$id" || return
    argv=(32)
    script line "$line:line" "$line:waiting" && has "$out" '|pid=1' || return
    argv=("$id" 0)
    script present "$line:waiting" "$line:$id"
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

mapfile -t rights < <(grep -oE '\+[a-z]+' <<<"$rule")
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

#!/usr/bin/env bash
# Other people's locks: redis-py holds and releases with its own Lock class what redlock waits for, and the other way round.
# It needs redis-py, which it installs into a private folder that is gone afterwards; without it, it says so and skips.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/../cli/lib.sh"

install() {
    python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet redis
}
if ! install >"$work/install.log" 2>&1; then
    echo '1..0 # SKIP redis-py cannot be installed here'
    sed 's/^/# /' "$work/install.log" | tail -n 3
    exit 0
fi
echo "# redis-py $("$work/venv/bin/python" -c 'import redis; print(redis.__version__)')"
start_nodes

# locker NAME: redis-py takes NAME on all nodes, says so in $work/taken, and lets go when $work/go is there.
locker() {
    rm -f "$work/go" "$work/taken"
    "$work/venv/bin/python" - "$1" "$work" <<'PYTHON' &
import os, sys, time
import redis

name, work = sys.argv[1], sys.argv[2]
nodes = [redis.Redis(unix_socket_path=f"{work}/n{i}.sock") for i in range(1, 6)]
locks = [node.lock(name, timeout=600) for node in nodes]
assert all(lock.acquire(blocking=False) for lock in locks)
open(f"{work}/taken", "w").close()
for _ in range(3000):
    if os.path.exists(f"{work}/go"):
        break
    time.sleep(0.02)
for lock in locks:
    lock.release()
PYTHON
    locker=$!
    started_pids+=("$locker")
    until_true test -e "$work/taken"
}
told_by() {
    [ "$(node 1 INFO clients | tr -d '\r' | sed -n 's/^tracking_clients://p')" = "$1" ]
}
free_for_redis_py() {
    "$work/venv/bin/python" - "$1" "$work" <<'PYTHON'
import sys
import redis

name, work = sys.argv[1], sys.argv[2]
lock = redis.Redis(unix_socket_path=f"{work}/n1.sock").lock(name, timeout=600)
if not lock.acquire(blocking=False):
    sys.exit(1)
lock.release()
PYTHON
}

locker shared
exits 'a lock of redis-py is held' 75 run -n shared -- true
start run -v --status-fd 3 shared -- echo ran
until_true told_by 1
touch "$work/go"
finish
is 'its release lets a waiter in' "$code/$out" 0/ran
ok 'the nodes told it' test "$(grep -c 'changed$' "$work/err")" -ge 3
ok 'it did not have to look' lacks "$err" 'look again'
is 'and asked twice' "$(grep -c 'round .* > ask' "$work/err")" 2
wait "$locker"
is 'redis-py found its lock as it had left it' "$?" 0

start run --status-fd 3 shared -- sleep 600
until_true is_held shared
spread shared
ok 'our lock is held for redis-py' equals "$(free_for_redis_py shared && echo free)" ''
kill -TERM "$started"
finish
ok 'and free when we let go' until_true free_for_redis_py shared

done_testing

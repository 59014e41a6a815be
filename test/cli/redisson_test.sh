#!/usr/bin/env bash
# Redisson's format from the command: hashes as it writes them, its channels, and the rights that docs/interop.md names. One node is what
# its ordinary locks are on.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_node 1
until_true is_up 1
export REDLOCK_NODES=unix://$work/n1.sock
java=dff7ccae-4b90-4629-8775-d867fb21cfd6:1
java_locks() { node 1 HSET "$1" "$java" 2 >/dev/null; node 1 PEXPIRE "$1" 600000 >/dev/null; }
gone() { [ "$(node 1 EXISTS "$1")" = 0 ]; }

# ---- who is let in
java_locks job
exits 'a lock of Redisson'\''s is busy' 75 run -n --format redisson job -- true
ok 'and its holder is named' has "$err" 'dff7ccae'
is 'its count is left alone' "$(node 1 HGET job "$java")" 2
exits 'status knows it' 0 status --format redisson job
ok 'as held' has "$out" 'job is held by dff7ccae'
exits 'list has it' 0 list --format redisson
ok 'by its name' has "$out" 'job'
start run --format redisson --status-fd 3 job -- echo ran
until_true has_event waiting
node 1 DEL job >/dev/null
finish
is 'a waiter is woken when it is gone' "$code/$out" 0/ran
exits 'break ends a hold of Redisson'\''s' 79 break --format redisson -y --now --id dff7ccae job
java_locks job
exits 'which is there' 0 break --format redisson -y --now --id dff7ccae job
ok 'at once' gone job

# ---- what is there meanwhile, and who is told
redis-cli -s "$work/n1.sock" PSUBSCRIBE 'redisson_*' >"$work/told" &
started_pids+=("$!")
until_true has_content "$work/told"
node 1 RPUSH 'redisson_lock_queue:{job}' dead "$java" >/dev/null
node 1 ZADD 'redisson_lock_timeout:{job}' 1 dead 9999999999999 "$java" >/dev/null
fields=$("$REDLOCK" run --format redisson job -- redis-cli -s "$work/n1.sock" HGETALL job 2>/dev/null)
ok 'our hash has the mode of a writer' has "$fields" $'mode\nwrite'
ok 'its field, with its count' matches "$fields" $'ttl=15000:write\n1'
ok 'and that of an RLock' matches "$fields" $'ttl=15000\n1'
ok 'nothing is left of it' gone job
for channel in 'redisson_lock__channel:{job}' 'redisson_rwlock:{job}' "redisson_lock__channel:{job}:$java"; do
    ok "the release is told on $channel" until_true grep -qxF -- "$channel" "$work/told"
done
is 'a fair lock'\''s queue is not changed' "$(node 1 LLEN 'redisson_lock_queue:{job}')" 2
node 1 DEL 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' >/dev/null

# ---- readers
start run --format redisson -s --status-fd 3 book -- sh -c 'while [ ! -e "$0" ]; do sleep 0.05; done' "$work/go"
until_true has_event acquired
exits 'two read at once' 0 run -n --format redisson --shared book -- true
exits 'nobody writes meanwhile' 75 run -n --format redisson book -- true
is 'the mode is that of readers' "$(node 1 HGET book mode)" read
exits 'it is listed' 0 list --format redisson --json
ok 'as shared' has "$out" '"kind":"shared"'
exits 'and for people' 0 list --format redisson
ok 'in words' has "$out" ', shared'
is 'the reader has its lease' "$(node 1 KEYS '{book}:*:rwlock_timeout:1' | grep -c .)" 1
touch "$work/go"
finish
exits 'then somebody writes' 0 run -n --format redisson book -- true
exits 'a shared lock is acquired' 0 acquire --format redisson -s --ttl 20s book
REDLOCK_OWNER=$(sed -n 's/^owner //p' <<<"$out")
export REDLOCK_OWNER
exits 'extended' 0 extend --format redisson -s --ttl 40s book
ok 'with its lease' test "$(node 1 PTTL "{book}:$REDLOCK_OWNER:rwlock_timeout:1")" -gt 20000
exits 'and released' 0 release --format redisson -s book
unset REDLOCK_OWNER
ok 'without a trace' equals "$(node 1 DBSIZE)" 0

# ---- what is refused, and how
exits 'a shared lock of the common format on plain nodes' 64 run --plain -s job -- true
says 'is refused with the remedy' 'add --format redisson'
exits 'a fair one in this format' 64 run --format redisson --kind fair job -- true
says 'too' 'redlock does not join the queue'
exits 'a shared fair one' 64 run --format redisson --kind fair -s job -- true
exits 'an unknown format' 64 run --format jedis job -- true
says 'names those there are' 'common|redisson'
printf '%s\n' "node = unix://$work/n1.sock" 'format = redisson' >"$work/redisson.conf"
exits 'the format can be configured' 0 run --config "$work/redisson.conf" job -- \
    sh -c 'test "$(redis-cli -s "$0" TYPE job)" = hash' "$work/n1.sock"
exits 'and overruled' 0 run --config "$work/redisson.conf" --format common --plain job -- \
    sh -c 'test "$(redis-cli -s "$0" TYPE job)" = string' "$work/n1.sock"
echo 'mode = guarded' >>"$work/redisson.conf"
exits 'with guarded mode it is an error' 78 run --config "$work/redisson.conf" job -- true
says 'that says why' 'no fence and no guard'
sed -i 's/redisson$/java/' "$work/redisson.conf"
exits 'a format that is not known' 78 run --config "$work/redisson.conf" job -- true
says 'is named with its line' 'redisson.conf:2: format "java" is neither common nor redisson'

# ---- rights
rule=$(awk '/^```acl$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/interop.md" | for_this_server)
read -ra words <<<"${rule#user locks }"
node 1 ACL SETUSER locks "${words[@]}" >/dev/null
export REDLOCK_PASSWORD=change-me
printf '%s\n' "node = unix://$work/n1.sock" 'format = redisson' 'prefix = lock:' 'user = locks' >"$work/rights.conf"
exits 'with the documented rights a lock is taken' 0 run --config "$work/rights.conf" --ttl 30s --renew 100ms job -- sleep 0.3
is 'and renewed without a word' "$err" 'redlock: warning: a single node: when it fails nobody can lock, and when it loses its data two can hold a lock'
exits 'a shared one, too' 0 run --config "$work/rights.conf" -s job -- true
exits 'status, too' 0 status --config "$work/rights.conf" job
exits 'list, too' 0 list --config "$work/rights.conf"
ok 'and Redisson is told' until_true grep -qxF -- 'redisson_lock__channel:{lock:job}' "$work/told"
exits 'other keys are refused' 77 run -n --config "$work/rights.conf" --prefix other: job -- true
unset REDLOCK_PASSWORD

done_testing

#!/usr/bin/env bash
# redlock run --legacy shares locks with programs that use SETNX and GETSET by hand, in both directions.
# shellcheck disable=SC2016,SC2317 # single quotes are for other shells; checks are called by name
. "$(dirname "$0")/lib.sh"

start_node 1
until_true is_up 1
export REDLOCK_NODES=unix://$work/n1.sock

# The other program: the protocol as it has been written down since 2010, step by step.
cat >"$work/other.sh" <<'END'
#!/usr/bin/env bash
# other.sh SOCKET KEY TTL_MS CMD...: waits, runs CMD, releases. 20 lines.
socket=$1 key=$2 ttl=$3
shift 3
redis() { redis-cli -s "$socket" "$@"; }
now() { date +%s%3N; }
until [ "$(redis SETNX "$key" "${end:=$(($(now) + ttl))}")" = 1 ]; do
    held=$(redis GET "$key")
    if [ -n "$held" ] && [ "$held" -lt "$(now)" ]; then
        end=$(($(now) + ttl))
        before=$(redis GETSET "$key" "$end")
        [ -n "$before" ] && [ "$before" -ge "$(now)" ] || break
    fi
    sleep 0.01
    end=$(($(now) + ttl))
done
"$@"
code=$?
[ "$(now)" -ge "$end" ] || redis DEL "$key" >/dev/null
exit "$code"
END
chmod +x "$work/other.sh"
other() { "$work/other.sh" "$work/n1.sock" "$@"; }

# ---- the lock
exits 'it is taken' 0 run old --legacy -- sh -c 'redis-cli -s "$0" GET old; echo "$REDLOCK_OWNER"' "$work/n1.sock"
is 'its value is its end, and so is the owner' "$(sed -n 1p <<<"$out")" "$(sed -n 2p <<<"$out")"
ok 'in milliseconds' matches "$(sed -n 1p <<<"$out")" '^[0-9]{13}$'
is 'and it is given back' "$(node 1 EXISTS old)" 0
exits 'or in seconds' 0 run old --legacy-seconds -- redis-cli -s "$work/n1.sock" GET old
ok 'for programs that have them so' matches "$out" '^[0-9]{10}$'
exits 'the exit code is that of CMD' 7 run old --legacy -- sh -c 'exit 7'

# ---- ours is respected by theirs, and theirs by ours
start run old --legacy --ttl 5s -- sh -c "touch '$work/held'; until [ -e '$work/go' ]; do sleep 0.02; done"
until_true test -e "$work/held"
other old 60000 touch "$work/theirs" &
theirs=$!
started_pids+=("$theirs")
first=$(node 1 GET old)
is_renewed_and_over() { [ "$(node 1 GET old)" -gt "$first" ] && [ "$(date +%s%3N)" -gt "$first" ]; }
until_true is_renewed_and_over
ok 'the other program waits for ours, also when its first TTL is over' test ! -e "$work/theirs"
exits 'and ours says busy to ours' 75 run old --legacy -n -- true
says 'in words' 'old is busy'
exits 'with the code of choice' 4 run old --legacy -n -E 4 -- true
exits 'or none' 0 run old --legacy -n --skip-ok -- true
touch "$work/go"
finish
wait "$theirs"
is 'when ours has ended theirs gets it' "$?:$code" 0:0
ok 'indeed' test -e "$work/theirs"
rm "$work/go"
other old 60000 sh -c "touch '$work/theirs2'; until [ -e '$work/go' ]; do sleep 0.02; done" &
theirs=$!
started_pids+=("$theirs")
until_true test -e "$work/theirs2"
exits 'ours waits for theirs' 75 run old --legacy -w 0.3s -- true
start run old --legacy -- touch "$work/ours"
until_true grep -q 'waiting for old' "$work/err"
touch "$work/go"
finish
wait "$theirs"
ok 'and gets it then' test -e "$work/ours"
node 1 SET old "$(($(date +%s%3N) - 1000))" >/dev/null
exits 'what has ended is taken over from a program that died' 0 run old --legacy -n -- true
node 1 SET old "$(date +%s)" >/dev/null
exits 'in seconds too' 0 run old --legacy -w 10s -- true

# ---- a counter of both loses nothing
cat >"$work/add.sh" <<END
n=\$(cat "$work/counter"); echo \$((n + 1)) >"$work/counter"
END
echo 0 >"$work/counter"
adders=()
for _ in 1 2 3; do
    (for _ in 1 2 3 4 5; do other counter 60000 sh "$work/add.sh"; done) &
    adders+=("$!")
    (for _ in 1 2 3 4 5; do "$REDLOCK" run -q counter --legacy --ttl 60s -- sh "$work/add.sh"; done) &
    adders+=("$!")
done
started_pids+=("${adders[@]}")
wait "${adders[@]}"
is 'a counter of both loses nothing' "$(<"$work/counter")" 30

# ---- scripts
exits 'acquire prints the end as the owner' 0 acquire old --legacy --ttl 60s
owner=$(sed -n 's/^owner //p' <<<"$out")
is 'which is the value' "$(node 1 GET old)" "$owner"
exits 'extend moves it' 0 extend old --legacy --owner-token "$owner" --ttl 90s
owner=$(sed -n 's/^owner //p' <<<"$out")
is 'and prints the new one' "$(node 1 GET old)" "$owner"
exits 'release gives it back' 0 release old --legacy --owner-token "$owner"
exits 'once' 79 release old --legacy --owner-token "$owner"
exits 'an end that has come is no owner' 79 extend old --legacy --owner-token 5 --ttl 5s
exits 'nor is a text' 64 release old --legacy --owner-token abc

# ---- what another program has is left alone
exits 'a lock' 0 acquire old --legacy --ttl 60s
owner=$(sed -n 's/^owner //p' <<<"$out")
node 1 SET old "$((owner + 90000))" >/dev/null
exits 'that another program has since is not extended' 79 extend old --legacy --owner-token "$owner" --ttl 5s
says 'which is said' 'the key holds another end'
exits 'nor released' 79 release old --legacy --owner-token "$owner"
is 'nor touched' "$(node 1 GET old)" "$((owner + 90000))"
node 1 DEL old >/dev/null

# ---- lost
start run old --legacy --ttl 1s -- sleep 600
exists() { [ "$(node 1 EXISTS old)" = 1 ]; }
until_true exists
node 1 DEL old >/dev/null
finish
is 'CMD is stopped when the key is gone' "$code" 79

# ---- what is refused
node 1 SET old somebody >/dev/null
exits 'a key that holds no time is no lock of this kind' 75 run old --legacy -n -- true
says 'which is said' 'the key holds no time'
node 1 DEL old >/dev/null
REDLOCK_NODES="unix://$work/n1.sock unix://$work/n2.sock" exits 'one node is needed' 64 run old --legacy -- true
says 'and no more' 'a legacy lock is kept by one node, and 2 are configured'
REDLOCK_NODES='' exits 'and not a local one' 78 run old --legacy -- true
printf 'mode = legacy\nnode = unix://%s\n' "$work/n1.sock" >"$work/legacy.conf"
unset REDLOCK_NODES
exits 'the configuration can say so' 0 run old --config "$work/legacy.conf" -- true
exits 'then what knows no such locks is refused' 78 list --config "$work/legacy.conf"
says 'in words' 'only run, acquire, extend and release know such locks'
printf 'mode = ancient\nnode = unix://%s\n' "$work/n1.sock" >"$work/legacy.conf"
exits 'other modes are refused' 78 run old --config "$work/legacy.conf" -- true
says 'with those there are' 'none of guarded, plain, legacy and legacy-seconds'
done_testing

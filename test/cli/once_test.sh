#!/usr/bin/env bash
# redlock once: CMD succeeds at most once a period over all hosts, whatever their clocks say; a failure is tried again.
# shellcheck disable=SC2016,SC2317 # single quotes are for other shells; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
ran=$work/ran
: >"$ran"
count() { wc -l <"$ran"; }
mark() { node "$1" GET "redlock-mark:once:$2"; }

# ---- one host
exits 'the first one runs it' 0 once report --every 1h -- sh -c "echo ran >>'$ran'"
exits 'the next one does not' 0 once report --every 1h -- sh -c "echo ran >>'$ran'"
says 'and says why' 'and is to be done once in 1h00m: nothing to do'
is 'it ran once' "$(count)" 1
ok 'the lock is not kept' until_true copies_are report 0
exits 'in silence with -q' 0 once -q report --every 1h -- sh -c "echo ran >>'$ran'"
is 'indeed' "$out$err" ''
exits 'and as JSON' 0 once --json report --every 1h -- false
ok 'with the fact' has "$out" '"skipped":true'
exits 'another name has its own period' 0 once other --every 1h -- sh -c "echo other >>'$ran'"
is 'and ran' "$(tail -n 1 "$ran")" other
exits 'a shorter period may be over' 0 once report --every 1s -- true

# ---- a failure
: >"$ran"
exits 'a CMD that fails hands on its code' 5 once flaky --every 1h -- sh -c "echo failed >>'$ran'; exit 5"
exits 'and is tried again' 0 once flaky --every 1h -- sh -c "echo done >>'$ran'"
exits 'until it succeeds' 0 once flaky --every 1h -- sh -c "echo again >>'$ran'"
is 'once' "$(paste -sd' ' "$ran")" 'failed done'

# ---- nodes that forget, or are away
node 1 DEL redlock-mark:once:report >/dev/null
node 2 DEL redlock-mark:once:report >/dev/null
exits 'nodes that forgot do not make it run again' 0 once report --every 1h -- sh -c "echo no >>'$ran'"
ok 'and are told again' test -n "$(mark 1 report)"
ok 'both' test -n "$(mark 2 report)"

# ---- the next period begins when the last run did
python3 - "$work" <<'END'
import glob, subprocess, sys, time
for path in glob.glob(sys.argv[1] + "/n?.sock"):
    stamp = int((time.time() - 3601) * 1000)
    subprocess.run(["redis-cli", "-s", path, "SET", "redlock-mark:once:report", str(stamp), "PX", "9000000"],
                   check=True, stdout=subprocess.DEVNULL)
END
: >"$ran"
exits 'when the period is over it runs again' 0 once report --every 1h -- sh -c "echo next >>'$ran'"
is 'once more' "$(paste -sd' ' "$ran")" next

# ---- five hosts (a name space each for network, host name and the clocks that count from the start of the machine), one of them 30 s ahead and one 30 s behind,
# whose CMD fails at first
on_host() { # HOST CMD...: with a clock of its own
    local host=$1
    shift
    "${spaces[@]}" env "${preload[@]}" CLOCK_SHIM="$work/host$host/clock" "$@"
}
set_spaces() { # HOST
    spaces=(unshare --map-root-user --net --uts --time --fork --boottime "$(($1 * 10000))" --monotonic "$(($1 * 20000))"
        sh -c 'echo "host$0" >/proc/sys/kernel/hostname && exec "$@"' "$1")
}
set_spaces 1
has_spaces=yes
"${spaces[@]}" true 2>/dev/null || has_spaces=no
: >"$ran"
hosts=()
for host in 1 2 3 4 5; do
    mkdir "$work/host$host"
    offset=0
    [ "$host" = 2 ] && offset=30000000
    [ "$host" = 3 ] && offset=-30000000
    python3 -c 'import struct, sys; open(sys.argv[1], "wb").write(struct.pack("=I4xqqq", 0, int(sys.argv[2]), 0, 0))' \
        "$work/host$host/clock" "$offset"
done
preload=()
is_sanitized || preload=("LD_PRELOAD=$BUILD/test/clock_shim.so")
spaces=()
shown() { on_host "$1" date +%s; }
if is_sanitized; then
    ok 'clocks of hosts differ # SKIP a sanitizer comes first' true
else
    ok 'clocks of hosts differ' test "$(($(shown 2) - $(shown 3)))" -ge 55
fi
for host in 1 2 3 4 5; do
    (
        [ "$has_spaces" = no ] || set_spaces "$host"
        for _ in 1 2 3; do
            on_host "$host" "$REDLOCK" once -q nightly --every 1h -- sh -c \
                "uname -n >>'$work/names'; cat /proc/uptime >>'$work/uptimes'
                if mkdir '$work/tried' 2>/dev/null; then echo failed >>'$ran'; exit 1; fi; echo done >>'$ran'"
        done
    ) </dev/null >>"$work/hosts.out" 2>&1 &
    hosts+=("$!")
    started_pids+=("$!")
done
wait "${hosts[@]}"
is 'five hosts do it once, after the failure of one' "$(paste -sd' ' "$ran")" 'failed done'
if [ "$has_spaces" = yes ]; then
    is 'each of which is a host of its own' "$(grep -cE '^host[1-5]$' "$work/names")" 2
    ok 'that has been up for hours by its clock' awk '$1 < 10000 { exit 1 }' "$work/uptimes"
else
    ok 'each of which is a host of its own # SKIP no name spaces here' true
fi

# ---- what is refused
exits 'a period is needed' 64 once report -- true
says 'which is said' 'redlock once report --every 1h -- CMD'
for every in 0 0.5s 9000h; do
    exits "a period of $every is refused" 64 once report --every "$every" -- true
done
exits 'CMD is needed' 64 once report --every 1h
occupy held
exits 'with -n' 75 once -n held --every 1h -- true
exits 'or nothing at all' 0 once -n --skip-ok held --every 1h -- true
vacate held
kill_nodes 1 2 3
exits 'without a quorum nothing is run' 69 once -w 1s report --every 1s -- sh -c "echo no >>'$ran'"
is 'indeed' "$(paste -sd' ' "$ran")" 'failed done'
done_testing

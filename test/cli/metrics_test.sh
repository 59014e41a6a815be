#!/usr/bin/env bash
# redlock run --metrics-file: a whole file at every moment, the right numbers, and a lock that does not care what becomes of it.
# shellcheck disable=SC2016,SC2317 # single quotes are for other programs; checks are called by name
. "$(dirname "$0")/lib.sh"
start_nodes
mkdir "$work/textfile"
file=$work/textfile/job.prom

value() { sed -nE "s/^$1(\{task=\"nightly\"\})? //p" "$file"; }
only_file() { equals "$(ls -A "$work/textfile")" job.prom; }

start run job --metrics-file "$file" --metrics-label task=nightly --ttl 30s --renew 100ms -- sleep 60
ok 'the file is there while the lock is held' until_true grep -q '^redlock_run_running{task="nightly"} 1$' "$file"
is 'a lock is held' "$(value redlock_held)" 1
ok 'renewals are seen' until_true grep -qE '^redlock_renewals_total\{task="nightly",outcome="renewed"\} [1-9]' "$file"
kill -TERM "$started"
finish
is 'at the end it says how it ended' "$(value redlock_run_exit_code) $(value redlock_run_running) $(value redlock_held)" '143 0 0'
ok 'every series has the label' equals "$(grep -vc -e '^#' -e 'task="nightly"' "$file")" 0
ok 'nothing else is left in the folder' only_file

occupy busy
exits 'a lock that is busy is told of, too' 75 run busy -n --metrics-file "$file" -- true
ok 'by its outcome' grep -qx 'redlock_acquisitions_total{outcome="busy"} 1' "$file"
exits 'a command may fail' 3 run job --metrics-file "$file" -- sh -c 'exit 3'
is 'with its code' "$(value redlock_run_exit_code)" 3

exits 'a folder that is not there is refused before the lock is taken' 64 run job --metrics-file "$work/none/x.prom" -- true
says 'by its name' "$work/none"
exits 'a label without a value is refused' 64 run job --metrics-file "$file" --metrics-label nightly -- true
says 'with an example' 'task=backup'
exits 'a label that a series has already is refused' 64 run job --metrics-file "$file" --metrics-label node=x -- true
exits 'a label without a file is refused' 64 run job --metrics-label task=x -- true

mkdir "$work/gone"
exits 'a folder that vanishes does not touch the lock' 0 run job --metrics-file "$work/gone/x.prom" -- rm -r "$work/gone"
says 'but is warned of' 'could not be written'

# A file system without room for it, seen by this run alone.
if unshare -m true 2>/dev/null; then
    mkdir "$work/small"
    unshare -m sh -c 'mount -t tmpfs -o size=4k none "$1" || exit
        "$REDLOCK" run job --metrics-file "$1/x.prom" -- sh -c "exit 5"
        code=$?
        ls -A "$1"
        exit $code' sh "$work/small" >"$work/out" 2>"$work/err" </dev/null
    code=$? out=$(<"$work/out") err=$(<"$work/err")
    is 'a full disk does not touch the lock' "$code" 5
    says 'and is named' 'No space left'
    is 'nor does it keep half a file' "$out" ''
else
    ok 'a full disk does not touch the lock # SKIP a file system cannot be mounted here' true
fi
done_testing

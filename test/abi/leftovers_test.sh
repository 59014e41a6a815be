#!/usr/bin/env bash
# What run-test is there for: a test that leaves a process or a file behind fails, and both are gone afterwards.
# The tests it runs here are one-liners.
# shellcheck disable=SC2016 # single quotes are for the shell inside run-test
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

# holds NAME COMMAND...: one TAP line.
holds() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@"; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        printf 'status %s\n%s\n' "$status" "$output" | sed 's/^/# /'
    fi
}

# runs SCRIPT: as a test; $status and $output are what it came to, $work/seen is for the script.
runs() {
    : >"$work/seen"
    output=$(REDLOCK_NODES=elsewhere REDLOCK_LOCAL_DIR=elsewhere XDG_RUNTIME_DIR=/run/user/0 seen=$work/seen TMPDIR=$work \
        "$SOURCE/test/run-test" sh -c "$1" 2>&1)
    status=$?
}
is_gone() { ! kill -0 "$1" 2>/dev/null; }

echo 1..14
runs 'echo "ok 1"; mkdir "$TMPDIR/a"; rmdir "$TMPDIR/a"; echo "$TMPDIR" >"$seen"; exit 0'
holds 'a test that cleans up passes' [ "$status" -eq 0 ]
holds 'its output is handed on' [ "${output%%$'\n'*}" = 'ok 1' ]
holds 'its folder was below TMPDIR' [ "$(dirname "$(<"$work/seen")")" = "$work" ]
holds 'and is gone' [ ! -e "$(<"$work/seen")" ]
runs 'exit 7'
holds 'the status is that of the test' [ "$status" -eq 7 ]
runs 'echo "${REDLOCK_NODES-unset} ${XDG_RUNTIME_DIR-unset}"'
holds 'nothing of the user steers it' [ "${output%%$'\n'*}" = 'unset unset' ]
runs 'echo "$TMPDIR $REDLOCK_LOCAL_DIR"'
holds 'local nodes are its own' [ "${output%% *}/local" = "$(sed -n '1s/.* //p' <<<"$output")" ]
runs 'mkdir "$TMPDIR/forgotten"; echo "$TMPDIR" >"$seen"'
holds 'a forgotten folder fails the test' [ "$status" -eq 1 ]
holds 'and is named' grep -q 'left behind: forgotten' <<<"$output"
holds 'and removed' [ ! -e "$(<"$work/seen")" ]
runs 'setsid sh -c "setsid sleep 1000 >/dev/null 2>&1 & echo \$!" >"$seen"'
holds 'a forgotten process fails the test, however often it was detached' [ "$status" -eq 1 ]
holds 'and is named' grep -q "left running: $(<"$work/seen") sleep 1000" <<<"$output"
holds 'and ended' is_gone "$(<"$work/seen")"
: >"$work/seen"
TMPDIR=$work "$SOURCE/test/run-test" sh -c 'setsid sleep 1000 & echo $! >"$0"; sleep 1000' "$work/seen" &
runner=$!
until [ -s "$work/seen" ]; do sleep 0.01; done
kill "$runner"
wait "$runner"
status=$? output=''
holds 'who ends the test ends all of it' is_gone "$(<"$work/seen")"

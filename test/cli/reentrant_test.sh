#!/usr/bin/env bash
# --reentrant: a redlock run inside one that holds the same name.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

held_by() { node 1 GETRANGE "$1" 0 7; }
free() { [ -z "$(held_by "$1")" ]; }

exits 'alone it takes the lock' 0 run --reentrant a -- sh -c 'echo "$REDLOCK_HELD"'
is 'as any run does' "$out" a
ok 'and gives it back' until_true free a
exits 'inside it runs under the outer lock' 0 run a -- sh -c \
    '"$REDLOCK" run --reentrant a -- sh -c "echo in" && echo "$REDLOCK_FENCE" && "$REDLOCK" run -n --reentrant a -- sh -c "echo \$REDLOCK_FENCE"'
is 'as often as it likes, with the same fence' "$(uniq <<<"$out" | wc -l)" 2
exits 'which is still held behind it' 0 run a -- sh -c \
    '"$REDLOCK" run --reentrant a -- true; "$REDLOCK" run -n --reentrant a -- true && "$REDLOCK" status a'
ok 'by the outer one' has "$out" 'held'
exits 'without the option it is refused, as before' 64 run a -- "$REDLOCK" run a -- true
says 'in words' 'it would wait for itself'
exits 'the exit code is that of CMD' 7 run a -- "$REDLOCK" run --reentrant a -- sh -c 'exit 7'
exits 'the time of CMD is limited inside, too' 124 run a -- "$REDLOCK" run --reentrant --max-time 200ms a -- sleep 60
exits 'another name is another lock' 0 run a -- "$REDLOCK" run --reentrant b -- sh -c 'echo "$REDLOCK_HELD"'
is 'beside the first' "$out" 'a b'

# One that has outlived the run that started it is not inside any more.
exits 'a lock that is gone is taken anew' 0 run b -- env REDLOCK_HELD=a "$REDLOCK" run -n --reentrant a -- sh -c 'echo "$REDLOCK_NAME"'
is 'and held' "$out" a
exits 'somebody else has it' 0 acquire a --ttl 60s
owner=$(sed -n 's/^owner //p' <<<"$out")
exits 'whoever says so is not inside of it' 75 run b -- env REDLOCK_HELD="b a" REDLOCK_HELD_ON="x@y x@00000000" \
    "$REDLOCK" run -n --reentrant a -- true
exits 'it is given back' 0 release a --owner-token "$owner"
exits 'with --also' 64 run --reentrant --also b a -- true
done_testing

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
says 'with a remedy' '  fix     leave it out, or run CMD under the lock that is there: redlock run --reentrant'
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
# What is held together with others is not held alone inside of it. (-n: one that does not notice it is busy, and waits for nobody.)
exits 'inside of a shared lock' 64 run -s a -- "$REDLOCK" run -n --reentrant a -- true
says 'nobody has it alone' 'a is held shared by a redlock run above this one: it cannot be held alone'
exits 'nor inside of a semaphore' 64 run --slots 2 a -- "$REDLOCK" run -n --reentrant a -- true
says 'in words, too' 'a is held as a semaphore by a redlock run above this one: it cannot be held alone'

# Who would wait for itself is told, whichever reader the nodes name first.
exits 'a reader' 0 acquire -s --ttl 60s a
exits 'another one' 0 acquire -s --ttl 60s a
for round in 1 2 3 4 5 6 7 8; do
    exits "a writer inside of a third one ($round)" 64 run -s a -- "$REDLOCK" run -n a -- true
done
says 'is told' 'it would wait for itself'
exits 'so is one inside of a semaphore' 64 run --slots 1 p -- "$REDLOCK" run -n --slots 1 p -- true
says 'likewise' 'it would wait for itself'
ok 'but not to enter what is not held alone' lacks "$err" '--reentrant'
exits 'a run that is gone has no slot' 0 run b -- sh -c \
    'REDLOCK_HELD="b p" REDLOCK_HELD_ON="$REDLOCK_HELD_ON ${REDLOCK_HELD_ON%@*}@00000000/k" exec "$REDLOCK" run -n --slots 1 p -- true'
exits 'nor hides one that is there' 64 run b -- sh -c \
    'REDLOCK_HELD="c" REDLOCK_HELD_ON="${REDLOCK_HELD_ON%@*}@00000000" exec "$REDLOCK" run c -- "$REDLOCK" run -n c -- true'

for other in '--also b' --shared '--slots 2'; do
    # shellcheck disable=SC2086
    exits "with $other" 64 run --reentrant $other b2 -- true
    says 'which is named' "${other% *}"
done
done_testing

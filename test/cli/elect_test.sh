#!/usr/bin/env bash
# redlock elect: there is one leader at a time, whatever happens to it, and then another one; --observe tells who.
# shellcheck disable=SC2016,SC2317 # single quotes are for other shells; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
history=$work/history
: >"$history"
# What a leader does: a line as often as it can, with its term; each line is one write.
lead='while :; do echo "$REDLOCK_FENCE $0 $(date +%s%N)" >>"$1"; sleep 0.02; done'

# candidate NAME [NODES]: takes part; ${pids[NAME]} is its pid.
declare -A pids
candidate() {
    env --default-signal=INT,QUIT "$REDLOCK" elect boss --ttl 2s --nodes "${2-$REDLOCK_NODES}" -- \
        bash -c "$lead" "$1" "$history" >>"$work/out" 2>>"$work/err.$1" </dev/null &
    pids[$1]=$!
    started_pids+=("$!")
}
leader() { tail -n 1 "$history" | cut -d' ' -f2; }
leads_another() { [ -n "$(leader)" ] && [ "$(leader)" != "$1" ]; }

# Nodes as the leader that will be cut off sees them: through a process that can be stopped.
cat >"$work/relay.py" <<'END'
import os, selectors, socket, sys
selector, folder = selectors.DefaultSelector(), sys.argv[1]
for number in range(1, 6):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/r{number}.sock")
    listener.listen()
    selector.register(listener, selectors.EVENT_READ, number)
print("ready", flush=True)
while True:
    for key, _ in selector.select():
        if isinstance(key.data, int):
            here, there = key.fileobj.accept()[0], socket.socket(socket.AF_UNIX)
            try:
                there.connect(f"{folder}/n{key.data}.sock")
            except OSError:
                here.close()
                continue
            selector.register(here, selectors.EVENT_READ, there)
            selector.register(there, selectors.EVENT_READ, here)
            continue
        try:
            data = key.fileobj.recv(65536)
            if data:
                key.data.sendall(data)
        except OSError:
            data = b""
        if not data:
            for end in (key.fileobj, key.data):
                selector.unregister(end)
                end.close()
            break
END
python3 "$work/relay.py" "$work" >"$work/relay.out" &
relay=$!
started_pids+=("$relay")
until_true grep -q ready "$work/relay.out"

"$REDLOCK" elect boss --observe >"$work/observed" 2>"$work/observe.err" &
observer=$!
started_pids+=("$observer")
candidate one "$(printf 'unix://%s ' "$work"/r{1,2,3,4,5}.sock)"
leads() { [ "$(leader)" = "$1" ]; }
ok 'the first one leads' until_true leads one
candidate two
candidate three

# ---- cut off
kill -STOP "$relay"
ok 'a leader that is cut off is followed by another' until_true leads_another one
kill -CONT "$relay"
second=$(leader)

# ---- frozen
kill -STOP "${pids[$second]}"
ok 'a leader that is stopped is followed by another' until_true leads_another "$second"
third=$(leader)
kill -CONT "${pids[$second]}"

# ---- killed
kill -KILL "${pids[$third]}"
ok 'a leader that is killed is followed by another' until_true leads_another "$third"
fourth=$(leader)

# ---- ended
kill -TERM "${pids[$fourth]}"
wait "${pids[$fourth]}"
is 'a leader that is told to end ends as CMD does' "$?" 143
ok 'and is followed at once' until_true leads_another "$fourth"
for name in one two three; do
    kill -TERM "${pids[$name]}" 2>/dev/null
    wait "${pids[$name]}" 2>/dev/null
done

# ---- the history: no term begins before the one before it has ended, and terms rise
cat >"$work/judge.py" <<'END'
import sys
terms = {}
for line in open(sys.argv[1]):
    fence, name, at = line.split()
    first, last, who = terms.get(int(fence), (int(at), int(at), name))
    assert who == name, f"term {fence} is of {who} and of {name}"
    terms[int(fence)] = (min(first, int(at)), max(last, int(at)), name)
before = 0
for fence in sorted(terms):
    first, last, name = terms[fence]
    assert first > before, f"term {fence} of {name} began before the one before it had ended"
    before = last
print(len(terms))
END
terms=$(python3 "$work/judge.py" "$history")
ok 'there were never two at once' test -n "$terms"
ok 'and several terms' test "${terms:-0}" -ge 4
ok 'a leader that lost it waits to be elected again' grep -q 'no longer the leader; waiting to be elected again' "$work/err.one"

# ---- who watched
cat >"$work/told.py" <<'END'
import json, sys
told = {line["fence"] for line in map(json.loads, open(sys.argv[1])) if "fence" in line}
had = {int(line.split()[0]) for line in open(sys.argv[2])}
sys.exit(0 if had <= told else 1)
END
ok 'an observer saw each of them, with its term' until_true python3 "$work/told.py" "$work/observed" "$history"
kill -TERM "$observer"
wait "$observer" 2>/dev/null

# ---- a whole host that freezes: what runs there goes on for a moment when it thaws, before it is ended; the fence keeps that out
cat >"$work/store.sh" <<'END'
# store.sh FILE FENCE: writes, unless somebody with a higher fence has.
exec 9>>"$1.lock"
flock 9
if [ "$2" -ge "$(tail -n 1 "$1")" ]; then echo "$2" >>"$1"; else echo "$2" >>"$1.refused"; fi
END
echo 0 >"$work/store"
write='while :; do sh "$0" "$1" "$REDLOCK_FENCE"; sleep 0.02; done'
above() { [ "$(tail -n 1 "$work/store")" -gt "$1" ]; }
for host in 1 2; do
    "$REDLOCK" elect frozen --ttl 2s -- sh -c "$write" "$work/store.sh" "$work/store" >>"$work/out" 2>>"$work/err.host$host" </dev/null &
    pids[host$host]=$!
    started_pids+=("$!")
    until_true above 0
done
first=$(tail -n 1 "$work/store")
tree() { # PID: it and all below
    local child
    echo "$1"
    for child in $(pgrep -P "$1"); do tree "$child"; done
}
# The loop starts processes all the time: until nothing new is found, with everything that was found stopped.
freeze() {
    local -a found=()
    frozen=()
    mapfile -t found < <(tree "${pids[host1]}")
    while [ "${#found[@]}" != "${#frozen[@]}" ]; do
        frozen=("${found[@]}")
        kill -STOP "${frozen[@]}" 2>/dev/null
        mapfile -t found < <(tree "${pids[host1]}")
    done
}
freeze
ok 'a leader whose host freezes is followed by another' until_true above "$first"
kill -CONT "${frozen[@]}" 2>/dev/null
ok 'and is not the leader any more when it thaws' until_true grep -q 'no longer the leader' "$work/err.host1"
ok 'what it still wrote was kept out by its fence' sort -nc "$work/store"
for host in 1 2; do
    kill -TERM "${pids[host$host]}" 2>/dev/null
    wait "${pids[host$host]}" 2>/dev/null
done

# ---- ends, and what is refused
exits 'when CMD ends by itself it ends too, with its code' 3 elect other -- sh -c 'exit 3'
ok 'and gives the lock back' until_true copies_are other 0
exits 'a leader may not go on without the lock' 64 elect boss --on-lost ignore -- true
exits 'CMD is needed' 64 elect boss
says 'which is said' 'redlock elect boss -- CMD'
exits 'not for an observer' 64 elect boss --observe -- true
exits 'it cannot be told not to wait' 64 elect boss -n -- true
start elect boss --ttl 2s -- sh -c "touch '$work/leads'; exec sleep 600"
until_true test -e "$work/leads"
kill_nodes 1 2 3
until_true grep -q 'no longer the leader' "$work/err"
kill -TERM "$started"
finish
is 'one that waits for nodes ends when it is told to' "$code" 143
done_testing

#!/usr/bin/env bash
# One check and more for each row of the table of exit codes.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes

# ---- CMD's own
exits 'the exit code of CMD is passed on: 0' 0 run a -- true
for number in 1 7 64 75 79 255; do
    exits "the exit code of CMD is passed on: $number" "$number" run a -- sh -c "exit $number"
done
exits 'a signal that ended CMD is 128 and its number: TERM' 143 run a -- sh -c 'kill -TERM $$'
exits 'a signal that ended CMD is 128 and its number: KILL' 137 run a -- sh -c 'kill -KILL $$'
is 'nothing is said about all that' "$err" ''
is 'and nothing stays at the nodes' "$(copies a)" 0

# ---- 75
occupy busy
exits 'busy with -n is 75' 75 run -n busy -- touch "$work/ran"
ok 'and CMD did not run' test ! -e "$work/ran"
says 'the lock is named' 'redlock: busy is busy'
ok 'the holder is shown' matches "$err" '  holder  web-3 pid 4242 user deploy, since [0-9-]+ [0-9:]+ \([0-9]+d[0-9]+h\), why "pg_dump prod", id somebody'
ok 'so is the lease' matches "$err" '  lease   [0-9]+m[0-9]+s left, granted by 5 of 5'
says 'and where to see more' '  see     redlock status busy'
exits 'busy with -w is 75' 75 run -w 2s busy -- true
exits 'a wait of nothing too' 75 run -w 0 busy -- true
exits '-E chooses another code' 9 run -n -E 9 busy -- true
exits 'even 0' 0 run -n -E 0 busy -- true
exits '--skip-ok makes it 0' 0 run -n --skip-ok busy -- touch "$work/ran"
is 'in silence' "$err$out" ''
ok 'without running CMD' test ! -e "$work/ran"
exits '--skip-ok does not hide the exit code of CMD' 3 run -n --skip-ok free -- sh -c 'exit 3'
exits '-q says it in one line' 75 run -qn busy -- true
is 'and no more' "$err" 'redlock: busy is busy'
exits '--json says it as an object' 75 run -n --json busy -- true
ok 'with the holder' has "$err" '"host":"web-3"'
ok 'and the code' has "$err" '"exit_code":75'
exits 'acquire says busy too' 75 acquire -n --ttl 5s busy
is 'on stderr only' "$out" ''
is 'the lock of the other is untouched' "$(node 3 GET busy | cut -c1-8)" somebody

# ---- a key that is no lock
for number in 1 2 3 4 5; do
    node "$number" LPUSH list x >/dev/null
done
exits 'a key of another type is 75' 75 run -n list -- true
says 'in its own words' 'not a lock of this kind'
exits 'waiting for ever for it makes no sense' 75 run list -- true
exits '--skip-ok does not hide it' 75 run -n --skip-ok list -- true
is 'the key is untouched' "$(node 3 LLEN list)" 1

# ---- 126 and 127
exits 'a CMD that is not there is 127' 127 run a -- no-such-command-anywhere
says 'and is named' 'no-such-command-anywhere: command not found'
exits 'a path that is not there too' 127 run a -- /no/such/path
echo text >"$work/file"
exits 'a file that cannot be executed is 126' 126 run a -- "$work/file"
says 'with the reason' 'Permission denied'
exits 'a folder too' 126 run a -- /tmp
is 'the lock is given back in these cases' "$(copies a)" 0

# ---- 124
exits '--max-time ends CMD with 124' 124 run --max-time 200ms a -- sleep 60
says 'and says so' '--max-time'
exits 'a CMD that does not hear TERM too' 124 run --max-time 200ms --grace 200ms a -c 'trap "" TERM; while :; do sleep 0.1; done'
exits 'a CMD that is done in time is not touched' 5 run --max-time 60s a -- sh -c 'exit 5'

# ---- 64, 71, 77 and 78 have tests of their own; one each for the table
exits 'wrong usage is 64' 64 run a --no-such-option -- true
exits 'wrong configuration is 78' 78 run --nodes http://x a -- true
for number in 1 2 3 4 5; do
    node "$number" ACL SETUSER default resetpass '>sesame' >/dev/null
done
exits 'refused credentials are 77' 77 run -n a -- true
export REDLOCK_PASSWORD=sesame REDISCLI_AUTH=sesame
"$REDLOCK" acquire full --ttl 60s >/dev/full 2>"$work/err"
code=$? err=$(<"$work/err")
is 'a lease that cannot be printed is 71' "$code" 71
is 'and is given back' "$(copies full)" 0

# ---- 69
kill_nodes 1 2
exits 'two of five nodes may fail' 0 run a -- true
exits 'busy is still busy then' 75 run -n busy -- true
kill_nodes 3
exits 'three may not: no quorum is 69' 69 run -n a -- true
says 'and says how many are missing' '2 of 5 nodes answered, 3 are needed'
says 'and which' "$work/n3.sock"
exits 'never busy, even if the rest says so' 69 run -n busy -- true
exits 'nor when the wait runs out' 69 run -w 300ms a -- true
exits '-E is not for this' 69 run -n -E 9 a -- true
exits 'nor is --skip-ok' 69 run -n --skip-ok a -- true
exits 'status says so too' 69 status a
exits 'and status without a name' 69 status
ok 'but shows every node' has "$out" "$work/n5.sock"
exits 'and acquire' 69 acquire -n --ttl 5s a
exits 'and extend' 69 extend a --owner-token x --ttl 5s
is 'what the living nodes had granted was undone' "$(copies a)" 0

done_testing

#!/usr/bin/env bash
# redlock bench: figures of this fleet, for people and for programs; how high they are is nobody's business here. It leaves no lock behind.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

start_new_nodes
exits 'without nodes that vote there is nothing to measure' 69 bench --for 1s --plain --nodes unix:///nowhere/n.sock
admit
exits 'a fleet is measured' 0 bench --for 1s
ok 'first how it is' matches "$out" '^5 nodes, 3 needed, 5 eligible: two more may fail'
ok 'bare round trips' matches "$out" '  round trip p50 +[0-9.]+ms p99 +[0-9.]+ms +[0-9]+ rounds a second'
ok 'one caller against them' matches "$out" '  one caller p50 +[0-9.]+ms p99 +[0-9.]+ms +[0-9]+ pairs a second, [0-9.]+ of a bare loop'
ok 'several at once' matches "$out" '  16 callers p50 +[0-9.]+ms p99 +[0-9.]+ms +[0-9]+ pairs a second'
is 'no line is longer than a terminal' "$(awk 'length > 80' <<<"$out")" ''
is 'no lock is left' "$(for number in 1 2 3 4 5; do node "$number" KEYS 'redlock-bench:*'; done)" ''
exits 'in numbers' 0 bench --for 1s --json
measured() {
    python3 - "$out" <<'END'
import json, sys
found = json.loads(sys.argv[1])
for part in ("rounds", "one_caller", "many_callers"):
    assert found[part]["per_second"] > 0 and 0 < found[part]["p50_us"] <= found[part]["p99_us"], part
assert found["one_of_bare"] > 0 and found["many_of_bare"] > 0 and found["callers"] == 16
END
}
ok 'all of them' measured
exits 'plain mode too' 0 bench --for 500ms --plain --json
ok 'all of them' measured
exits 'too short a time is refused' 64 bench --for 10ms
kill_nodes 1 2 3
exits 'without a quorum it says so' 69 bench --for 1s
says 'in words' 'no quorum'
done_testing

#!/usr/bin/env bash
# Commands that are proposed repeat how the fleet was named, exactly as it was typed, and work when they are pasted into a shell.
# shellcheck disable=SC2016,SC2317 # names have what a shell would change; checks are called by name
. "$(dirname "$0")/lib.sh"

# hint LABEL: what the last redlock proposed there.
hint() { sed -nE "s/^  $1 +//p" "$work/out" "$work/err" | head -n 1; }
# pasted COMMAND: as a person would.
pasted() { PATH=$(dirname "$REDLOCK"):$PATH bash -c "$1" >"$work/out" 2>"$work/err" </dev/null; }

start_new_nodes
nodes=$(printf 'unix://%s,' "$work"/n{1,2,3,4,5}.sock)
nodes=${nodes%,}
unset REDLOCK_NODES
mkdir "$work/it's here"
file="$work/it's here/redlock.conf"
printf '%s\n' "nodes = $nodes" 'max_ttl = 700ms' >"$file"

exits 'a new fleet' 69 run -n --config "$file" a -- true
fix=$(hint fix)
ok 'init is proposed for that configuration' has "$fix" 'redlock init --config '
pasted "${fix##*: } --yes"
is 'and works when it is pasted' "$?" 0
exits 'a lock' 0 acquire --ttl 700ms --config "$file" --prefix 'team a:' -- "it's *"
for _ in 1 2 3 4 5 6; do
    try run -n --config "$file" --prefix 'team a:' -- "it's *" true
    [ "$code" = 75 ] || "$REDLOCK" acquire -q --ttl 700ms --config "$file" --prefix 'team a:' -- "it's *" >/dev/null
    [ "$code" != 75 ] || break
done
is 'that is busy' "$code" 75
see=$(hint see)
force=$(hint force)
ok 'status is proposed with all of it' equals "$see" "redlock status 'it'\\''s *' --config $(printf "'%s'" "${file//\'/\'\\\'\'}") --prefix 'team a:'"
pasted "$see"
is 'which works' "$?" 0
ok 'and is about that lock' has "$(<"$work/out")" "it's *"
ok 'break is proposed with all of it' matches "$force" '^redlock break .* --id [0-9a-f]+ --config .* --prefix '
exits 'status proposes the same' 0 status --nodes "$nodes" --prefix p: --plain a
exits 'a lock of a fleet that was named by --nodes' 0 acquire --ttl 30s --nodes "$nodes" --plain busy
exits 'status' 0 status --nodes "$nodes" --plain busy
force=$(hint force)
ok 'proposes to break it there' matches "$force" "^redlock break busy --id [0-9a-f]+ --nodes $nodes --plain$"
pasted "$force --yes --now"
is 'which works' "$?" 0
exits 'another format' 0 acquire --ttl 30s --nodes "$nodes" --format redisson java
exits 'is repeated, too' 75 run -n --nodes "$nodes" --format redisson java -- true
ok 'in each command' has "$(hint force)" '--format redisson'
pasted "$(hint force) --yes --now"
is 'and works' "$?" 0
kill_nodes 1 2 3
exits 'without a quorum' 69 run -n --config "$file" a -- true
pasted "$(hint see)"
is 'doctor is proposed for that fleet' "$?" 69
done_testing

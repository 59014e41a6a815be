#!/bin/sh
# Five nodes to break, in the current folder. Source it in an empty one, and see docs/failures.md for what to try:
#   . five-nodes.sh
#   kill_node 1; freeze_node 2; thaw_node 2; start_node 1; stop_nodes
# Locks last at most 3 s here, so that a quarantine is over after 5 s and not after a minute.
nodes=$PWD
unset REDLOCK_NODES # it would count before the configuration below
export XDG_CONFIG_HOME="$nodes/config"

node_runs() { [ -e "$nodes/$1.pid" ] && kill -0 "$(cat "$nodes/$1.pid")" 2>/dev/null; }

# start_node NUMBER...: those that do not run. A second server would take the first one's socket, and nobody could stop that one any more.
start_node() {
    for number; do
        ! node_runs "$number" || continue
        redis-server --port 0 --unixsocket "$nodes/$number.sock" --pidfile "$nodes/$number.pid" --dir "$nodes" \
            --logfile "$nodes/$number.log" --save '' --daemonize yes >/dev/null
        until redis-cli -s "$nodes/$number.sock" PING >/dev/null 2>&1; do sleep 0.1; done
    done
}

# signal_node SIGNAL NUMBER...
signal_node() {
    signal=$1
    shift
    for number; do
        kill "-$signal" "$(cat "$nodes/$number.pid")"
    done
}

# kill_node NUMBER...: it returns when they have ended, so that they can be started again.
kill_node() {
    signal_node KILL "$@"
    for number; do
        while node_runs "$number"; do sleep 0.1; done
        rm -f "$nodes/$number.pid"
    done
}
freeze_node() { signal_node STOP "$@"; }
thaw_node() { signal_node CONT "$@"; }

# stop_nodes: all that still run. It returns when they have ended and write nothing here any more.
stop_nodes() {
    for file in "$nodes"/*.pid; do
        [ -e "$file" ] || continue
        pid=$(cat "$file")
        kill -CONT "$pid" 2>/dev/null && kill "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
        rm -f "$file"
    done
}

mkdir -p "$XDG_CONFIG_HOME/redlock"
for number in 1 2 3 4 5; do
    echo "node = unix://$nodes/$number.sock"
done >"$XDG_CONFIG_HOME/redlock/redlock.conf"
printf 'ttl = 2s\nmax_ttl = 3s\n' >>"$XDG_CONFIG_HOME/redlock/redlock.conf"
if node_runs 1 || node_runs 2 || node_runs 3 || node_runs 4 || node_runs 5; then
    echo "five-nodes.sh: nodes run in $nodes already, and are used as they are; stop_nodes ends them" >&2
else
    start_node 1 2 3 4 5
    redlock init --yes
fi

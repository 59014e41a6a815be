#!/usr/bin/env bash
# redlock shares locks with redis-py's Lock on five nodes: each is refused what the other holds, and what it releases or
# extends is told to a waiter of ours by the nodes. Without redis-py it says so and skips.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

if install_peer redis-py python; then
    python=$PEERS/redis-py/venv/bin/python
    echo "# redis-py $("$python" -c 'import redis; print(redis.__version__)')"
    start_nodes
    monitor_nodes
    start_peer "$python" "$source_folder/test/interop/redis_py.py"
    shares_locks redis-py
fi

done_testing

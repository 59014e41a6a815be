#!/usr/bin/env bash
# redlock shares locks with node-redlock 5 and 4 (the npm package redlock, with ioredis) on five nodes: each is refused what
# the other holds, and what it releases or extends is told to a waiter of ours by the nodes. Without it, it says so and skips.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

# version FOLDER
version() {
    sed -nE 's/^ *"version": "v?(.*)",?$/\1/p' "$1/package.json"
}

start_nodes
monitor_nodes
for name in node-redlock-5 node-redlock-4; do
    install_peer "$name" nodejs || continue
    modules=$PEERS/$name/node_modules
    echo "# node-redlock $(version "$modules/redlock"), ioredis $(version "$modules/ioredis")"
    start_peer env NODE_PATH="$modules" node "$source_folder/test/interop/node_redlock.js"
    shares_locks "$name"
    stop_peer
done

done_testing

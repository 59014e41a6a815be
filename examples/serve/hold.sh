#!/bin/sh
# Holds a lock for as long as this script runs: the connection is the lock, and ends with it.
# Usage: hold.sh [URL]
set -eu

url=${1:-http://127.0.0.1:7420}
events=$(mktemp)
curl -sfN "$url/v1/locks/deploy/hold?max_hold_ms=600000&why=deploy" >"$events" &
holder=$!
trap 'kill $holder 2>/dev/null || true; rm -f "$events"' EXIT

until grep -q '^event: acquired' "$events"; do
    kill -0 $holder 2>/dev/null || { echo "deploy is busy" >&2; exit 75; }
    sleep 0.1
done
echo "working"

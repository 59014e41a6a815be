#!/bin/sh
# Takes a lock of redlock serve with curl, works, and gives it back. Needs jq to read the lease.
# Usage: lock.sh [URL]
set -eu

url=${1:-http://127.0.0.1:7420}
lease=$(curl -sf -X POST "$url/v1/locks/nightly-report" -H 'Content-Type: application/json' \
    -d '{"ttl_ms": 30000, "wait_ms": 10000, "why": "nightly report"}') || { echo "nightly-report is busy" >&2; exit 75; }
token=$(echo "$lease" | jq -r .token)
echo "working with fence $(echo "$lease" | jq .fence)"

curl -sf -X DELETE "$url/v1/locks/nightly-report" -H "Redlock-Token: $token" ||
    { echo "the lease had ended: this ran unlocked" >&2; exit 79; }
echo "given back"

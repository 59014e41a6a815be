#!/bin/sh
# Takes a lock, lengthens it between steps and gives it back; for scripts that cannot be one command of redlock run.
# Usage: lease.sh STEP... (each STEP is a shell command that takes less than the TTL)
lease=$(redlock acquire import --ttl 30s --wait 10s --why "lease.sh") || exit

# extend and release find the owner value here; as an argument everybody on this machine could read it.
REDLOCK_OWNER=$(printf '%s\n' "$lease" | sed -n 's/^owner //p')
export REDLOCK_OWNER
trap 'redlock release import' EXIT

for step; do
    redlock extend import --ttl 30s >/dev/null || exit
    sh -c "$step" || exit
done

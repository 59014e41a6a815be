#!/bin/sh
# The same line on every host, started at boot and kept alive: one of them runs the scheduler, the others wait to take over.
# The scheduler finds its term in REDLOCK_FENCE, for whatever it writes to.
exec redlock elect scheduler --ttl "${TTL:-10s}" --why "scheduler on $(uname -n)" -- "$@"

#!/bin/sh
# Runs a command under a lock that an old program takes by SETNX and GETSET, on the node that it uses.
# Usage: legacy.sh NODE KEY CMD...
node=$1 key=$2
shift 2
exec redlock run "$key" --legacy --nodes "$node" --ttl 30s -- "$@"

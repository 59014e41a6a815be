#!/bin/sh
# Adds to a number that a key has, without a lock: another writer makes it try again.
# Usage: counter.sh KEY NUMBER; with several nodes configured, on the first.
# shellcheck disable=SC2016 # the dollars are for the inner shell
set -eu

exec redlock update "$1" --node 1 -- sh -c 'read -r old || true; printf "%s" $((${old:-0} + $1))' sh "$2"

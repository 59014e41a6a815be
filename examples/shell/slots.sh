#!/bin/sh
# Converts each file that is named, at most four at a time over all hosts; each in the folder of its slot.
set -eu

# shellcheck disable=SC2016 # REDLOCK_SLOT is known to the inner shell
for file in "$@"; do
    redlock run conversions --slots 4 --quiet -- \
        sh -c 'mkdir -p "slot$REDLOCK_SLOT" && cp "$1" "slot$REDLOCK_SLOT/"' convert "$file" &
done
wait

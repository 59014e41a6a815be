#!/bin/sh
# Readers and a writer: any number of searches may use the index at the same time, and it is rebuilt while none of them does. A rebuild that
# waits goes before searches that come later, so that it is not put off for ever.
# Usage: readers.sh search|rebuild COMMAND...
set -eu

what=$1
shift
case $what in
search) exec redlock run --shared search-index --why search -- "$@" ;;
rebuild) exec redlock run search-index --why rebuild -- "$@" ;;
*)
    echo "readers.sh: say search or rebuild, not \"$what\"" >&2
    exit 64
    ;;
esac

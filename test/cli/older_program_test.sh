#!/usr/bin/env bash
# A program that was compiled with the header as it was before fields were added runs with the library of today, unchanged.
# What the program does is in test/abi/older; that the layout changes only so is for tools/check-abi.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
older=$SOURCE/test/abi/older
library=$BUILD/src
compiles() { cc -std=c11 -Wall -Wextra -Werror -I"$older" "$older/program.c" -o "$work/program" -L"$library" -lredlock; }
smaller() {
    ! diff -q <(sed -n "/^typedef struct $1 {/,/^}/p" "$older/redlock.h") \
        <(sed -n "/^typedef struct $1 {/,/^}/p" "$SOURCE/include/redlock.h") >/dev/null
}

for struct in redlock_options redlock_spec redlock_report redlock_node_report redlock_stats redlock_node_stats; do
    ok "$struct has grown since" smaller "$struct"
done
if is_sanitized; then
    ok 'a program compiled with the older header # SKIP it would need the run-time library of the sanitizer' true
    done_testing
fi
ok 'a program compiles with the older header' compiles
out=$(LD_LIBRARY_PATH=$library "$work/program" "$REDLOCK_NODES")
code=$?
err=
is 'and runs with the library of today' "$out" ''
is 'to the end' "$code" 0
done_testing

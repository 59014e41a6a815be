#!/usr/bin/env bash
# The README's example in other languages is a whole program each: it is compiled and run from the README's own text, holds the lock
# while it works, gives it back, and is no longer than what the section on C shows of it.
# shellcheck disable=SC2317 # checks are called by name
. "$(dirname "$0")/lib.sh"

start_new_nodes
admit

# block SECTION LANGUAGE: the first code block of a language in a section.
block() {
    awk -v section="## In $1" -v start="\`\`\`$2" '
        /^## / { here = $0 == section }
        /^```/ { inside = here && !seen && $0 == start; seen = seen || inside; next }
        inside' "$SOURCE/README.md"
}
lines() { block "$@" | grep -c .; }
is_held() { [ "$(copies "$1")" -ge 3 ]; }

# works LANGUAGE COMMAND...: the program takes the lock, holds it for a while and releases it.
works() {
    local language=$1
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null &
    started=$!
    started_pids+=("$started")
    ok "the example in $language takes its lock" until_true is_held import
    finish
    is 'works to its end' "$code:$err" 0:
    ok 'and gives it back' until_true copies_are import 0
}

ok 'the example is as short in C++ as in C' test "$(lines C++ cpp)" -le "$(lines C c)"
ok 'and shorter in Python' test "$(lines Python python)" -lt "$(lines C c)"
if is_sanitized; then
    ok 'the examples # SKIP they would need the run-time library of the sanitizer' true
    done_testing
fi
if command -v c++ >/dev/null; then
    block C++ cpp >"$work/program.cpp"
    c++ -std=c++17 -Wall -Wextra -Werror -I"$SOURCE/include" "$work/program.cpp" -o "$work/program" -L"$BUILD/src" -lredlock \
        -pthread -Wl,-rpath,"$BUILD/src" 2>"$work/words"
    is 'the example in C++ compiles as it stands' "$?:$(<"$work/words")" 0:
    works C++ "$work/program"
else
    ok 'the example in C++ # SKIP there is no C++ compiler' true
fi

block Python python >"$work/program.py"
works Python env PYTHONPATH="$SOURCE/python" PYTHONDONTWRITEBYTECODE=1 LIBREDLOCK="$BUILD/src/libredlock.so.1" python3 "$work/program.py"
done_testing

#!/usr/bin/env bash
# The public headers stand alone in every language and compiler we name, without a warning.
# It compiles only; what the functions do is for the other tests.
set -euo pipefail

header=$SOURCE/include/redlock.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include <redlock.h>\n#include <redlock.h>\nint main(void) { return 0; }\n' | tee "$work/t.c" >"$work/t.cpp"

number=0
# compiles NAME COMMAND...: one TAP line.
compiles() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@" -Wall -Wextra -Wpedantic -Werror -I"$SOURCE/include" -c -o "$work/t.o" 2>"$work/errors"; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$work/errors"
    fi
}

[ -f "$header" ] || { echo "1..0 # SKIP no public header yet"; exit 0; }
sed 's/redlock.h>/redlock.hpp>/' "$work/t.c" >"$work/pp.cpp"
loops=(libevent libuv glib)
declare -A packages=([libevent]=libevent_core [libuv]=libuv [glib]=glib-2.0)
echo 1..16
compiles "C11 with gcc" gcc -std=c11 "$work/t.c"
compiles "C17 with gcc" gcc -std=c17 "$work/t.c"
compiles "C++17 with g++" g++ -std=c++17 "$work/t.cpp"
compiles "C11 with clang" clang -std=c11 "$work/t.c"
compiles "C17 with clang" clang -std=c17 "$work/t.c"
compiles "C++17 with clang" clang -x c++ -std=c++17 "$work/t.cpp"
compiles "redlock.hpp, C++17 with g++" g++ -std=c++17 -Wshadow -Wconversion "$work/pp.cpp"
compiles "redlock.hpp, C++20 with g++" g++ -std=c++20 -Wshadow -Wconversion "$work/pp.cpp"
compiles "redlock.hpp, C++17 with clang" clang -x c++ -std=c++17 -Wshadow -Wconversion "$work/pp.cpp"
compiles "redlock.hpp, C++20 with clang" clang -x c++ -std=c++20 -Wshadow -Wconversion "$work/pp.cpp"

# A loop's own headers may need extensions of the language; warnings in them are not ours.
for loop in "${loops[@]}"; do
    printf '#include <redlock/%s.h>\n#include <redlock/%s.h>\nint main(void) { return 0; }\n' "$loop" "$loop" | tee "$work/loop.c" >"$work/loop.cpp"
    if pkg-config --exists "${packages[$loop]}" 2>/dev/null; then
        read -ra flags < <(pkg-config --cflags "${packages[$loop]}" | sed 's/-I/-isystem /g')
        compiles "redlock/$loop.h, C11 with gcc" gcc -std=gnu11 "$work/loop.c" "${flags[@]}"
        compiles "redlock/$loop.h, C++17 with clang" clang -x c++ -std=gnu++17 "$work/loop.cpp" "${flags[@]}"
    else
        for _ in C C++; do
            number=$((number + 1))
            echo "ok $number - redlock/$loop.h # SKIP ${packages[$loop]} is not installed"
        done
    fi
done

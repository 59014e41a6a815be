#!/usr/bin/env bash
# The tests of redlock.hpp compiled by the other compiler, clang, in both standards: they run like those of the build.
# The library itself is the build's.
set -euo pipefail

command -v clang++ >/dev/null || { echo '1..0 # SKIP there is no clang++'; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra hiredis < <(pkg-config --cflags --libs hiredis)

# compiled NAME STANDARD: the program; what the compiler says is an error.
compiled() {
    clang++ -std="c++$2" -O0 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I"$SOURCE/include" -I"$SOURCE/test" \
        "$SOURCE/test/cpp/$1_test.cpp" -o "$work/$1-$2" "$BUILD/test/libtest_fleet.a" -L"$BUILD/src" -lredlock "${hiredis[@]}" \
        -lcrypto -pthread -Wl,-rpath,"$BUILD/src"
}

echo 1..6
number=0
for standard in 17 20; do
    for name in once calls kinds; do
        number=$((number + 1))
        if compiled "$name" "$standard" 2>"$work/words" && "$work/$name-$standard" >"$work/out" 2>>"$work/words"; then
            echo "ok $number - $name in C++$standard by clang: $(grep -c '^ok' "$work/out") tests"
        else
            echo "not ok $number - $name in C++$standard by clang"
            grep -A3 '^not ok' "$work/out" 2>/dev/null | sed 's/^/# /' || true
            sed 's/^/# /' "$work/words"
        fi
    done
done

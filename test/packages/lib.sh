# Shared by the tests of packages: a private folder, a program that uses the library, checks that speak TAP. It asserts
# nothing by itself.
# shellcheck shell=bash
set -u
unset LD_LIBRARY_PATH # meson sets it to the build folder

work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
version=$(sed -nE "s/^  version: '([^']+)',/\1/p" "$SOURCE/meson.build")
tests=0
failures=0

# It needs the whole library, and prints the version it found at run time.
cat >"$work/user.c" <<'END_OF_C'
#include <stdio.h>

#include <redlock.h>

int main(void)
{
    redlock_result (*volatile open)(const redlock_options *, redlock_client **, redlock_report *) =
        redlock_client_open;

    return open == 0 || puts(redlock_version()) < 0;
}
END_OF_C

# The same in C++.
cat >"$work/user.cpp" <<'END_OF_CPP'
#include <iostream>

#include <redlock.hpp>

int main()
{
    redlock::report report;
    redlock::options options;

    options.nodes = "no such thing://";
    std::cout << redlock_version() << std::endl;
    return redlock::client::open(options, report) ? 1 : 0;
}
END_OF_CPP

# holds NAME COMMAND...: one TAP line; what the command said is shown when it fails.
holds() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@" >"$work/output" 2>&1; then
        echo "ok $tests - $name"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $name"
        tail -n 40 "$work/output" | sed 's/^/# /'
    fi
}

# runs PROGRAM: it runs and finds the version that was built.
runs() { [ "$("$1")" = "$version" ]; }
is_free_of() { ! ldd "$1" 2>/dev/null | grep -q "$2"; }

done_testing() {
    echo "1..$tests"
    exit "$((failures > 0))"
}

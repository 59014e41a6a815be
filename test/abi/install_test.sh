#!/usr/bin/env bash
# What make install leaves behind is enough: pkg-config finds it, programs link both ways, the command runs.
# It installs into a temporary folder only.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
symbol=$(head -n 1 "$SOURCE/test/abi/exported-symbols")
[ -n "$symbol" ] || { echo "1..0 # SKIP nothing is exported yet"; exit 0; }
cat >"$work/user.c" <<END
#include <redlock.h>
int main(void) { return (void (*)(void))$symbol == 0; }
END

number=0
# holds NAME COMMAND...: one TAP line.
holds() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@" >"$work/output" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$work/output"
    fi
}

links() {
    # shellcheck disable=SC2046 # the flags are words
    cc "$work/user.c" -o "$work/user" "$@" $(pkg-config --cflags --libs redlock)
}

links_statically() {
    # shellcheck disable=SC2046 # the flags are words
    cc "$work/user.c" -o "$work/user-static" $(pkg-config --cflags redlock) \
        -Wl,-Bstatic -lredlock -Wl,-Bdynamic $(pkg-config --static --libs openssl) -L"$library" -pthread
    ! ldd "$work/user-static" | grep -q libredlock
}

echo 1..5
holds "it installs" meson install -C "$BUILD" --no-rebuild --quiet --destdir "$stage"
library=$(dirname "$(find "$stage" -name libredlock.a)")
export PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
holds "a program links by pkg-config" links
holds "and runs" env LD_LIBRARY_PATH="$library" "$work/user"
holds "a program links the static library" links_statically
if [ -n "${REDLOCK:-}" ]; then
    holds "the installed command finds its library" env -u LD_LIBRARY_PATH "$(find "$stage" -path '*/bin/redlock')" version
else
    echo "ok 5 - the installed command finds its library # SKIP no command yet"
fi

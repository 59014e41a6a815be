#!/usr/bin/env bash
# What make install leaves behind is enough: pkg-config, CMake and meson find it, programs link both ways, the command, its
# pages and completions are there, and make uninstall takes all of it away. It installs into a temporary folder only.
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=test/packages/lib.sh
. "$(dirname "$0")/lib.sh"

stage=$work/stage
prefix=$(meson introspect "$BUILD" --buildoptions |
    python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
holds "it installs" meson install -C "$BUILD" --no-rebuild --quiet --destdir "$stage"
at=$stage$prefix
export PKG_CONFIG_PATH=$at/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
export LD_LIBRARY_PATH=$at/lib

# ---- pkg-config
# shellcheck disable=SC2046 # the flags are words
links() { cc "$work/user.c" -o "$work/user" $(pkg-config --cflags --libs redlock) && runs "$work/user"; }
# shellcheck disable=SC2046 # the flags are words
links_statically() {
    PKG_CONFIG_SYSROOT_DIR='' cc "$work/user.c" -o "$work/user-static" -I"$at/include" -L"$at/lib" -static \
        $(pkg-config --static --libs redlock) && runs "$work/user-static" && is_free_of "$work/user-static" libredlock
}
# shellcheck disable=SC2046 # the flags are words
links_the_archive() {
    cc "$work/user.c" -o "$work/user-archive" $(pkg-config --cflags redlock) "$at/lib/libredlock.a" \
        $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --static --libs openssl) -pthread &&
        runs "$work/user-archive" && is_free_of "$work/user-archive" libredlock
}
holds "a program links by pkg-config, and runs" links
holds "a program links statically by pkg-config --static, and runs" links_statically
holds "a program links only our archive statically, and runs" links_the_archive

# shellcheck disable=SC2046 # the flags are words
links_in_cpp() { c++ -std=c++17 "$work/user.cpp" -o "$work/user-cpp" $(pkg-config --cflags --libs redlock) -pthread && runs "$work/user-cpp"; }
if command -v c++ >/dev/null; then
    holds "a program in C++ links by pkg-config, and runs" links_in_cpp
else
    holds "a program in C++ links # SKIP there is no C++ compiler" true
fi

# ---- CMake
mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(user ${LANGUAGE})
find_package(redlock ${WANTED} CONFIG REQUIRED COMPONENTS ${PARTS})
if(LANGUAGE STREQUAL CXX)
    set(CMAKE_CXX_STANDARD 17)
    add_executable(user ../user.cpp)
else()
    add_executable(user ../user.c)
endif()
target_link_libraries(user PRIVATE ${TARGET})
END
# with_cmake FOLDER TARGET OPTION...
with_cmake() {
    local folder=$work/$1 target=$2
    shift 2
    cmake -S "$work/cmake" -B "$folder" -DCMAKE_PREFIX_PATH="$at" -DTARGET="$target" -DLANGUAGE=C "$@" &&
        cmake --build "$folder" && runs "$folder/user"
}
by_cmake() { with_cmake cmake-shared redlock::redlock -DWANTED="$version"; }
by_cmake_in_cpp() { with_cmake cmake-cpp redlock::redlock -DLANGUAGE=CXX; }
by_cmake_statically() {
    with_cmake cmake-static redlock::redlock_static -DPARTS=static && is_free_of "$work/cmake-static/user" libredlock
}
refuses() {
    ! cmake -S "$work/cmake" -B "$work/cmake-$RANDOM" -DCMAKE_PREFIX_PATH="$at" -DTARGET=redlock::redlock -DLANGUAGE=C "$@"
}
moved() {
    cp -a "$at" "$work/moved"
    with_cmake cmake-moved redlock::redlock -DCMAKE_PREFIX_PATH="$work/moved" &&
        env -u LD_LIBRARY_PATH ldd "$work/cmake-moved/user" | grep -q "$work/moved/lib/libredlock.so.1"
}
if command -v cmake >/dev/null; then
    holds "a program links by CMake, and runs" by_cmake
    if command -v c++ >/dev/null; then
        holds "a program in C++ links by CMake, and runs" by_cmake_in_cpp
    fi
    holds "a program links the static library by CMake, and runs" by_cmake_statically
    holds "CMake refuses a version that is not compatible" refuses -DWANTED=99.0
    holds "CMake refuses a part that is not there" refuses -DPARTS=sauce
    holds "CMake finds it after the prefix was moved" moved
else
    holds "a program links by CMake # SKIP there is no cmake" true
fi

# ---- meson
mkdir "$work/meson"
cp "$work/user.c" "$work/meson/"
printf '%s\n' "project('user', 'c')" "executable('user', 'user.c', dependencies: dependency('redlock'))" \
    >"$work/meson/meson.build"
by_meson() { meson setup "$work/by-meson" "$work/meson" && ninja -C "$work/by-meson" && runs "$work/by-meson/user"; }
holds "a program links by meson, and runs" by_meson

# ---- the command and its papers
has_pages() {
    local page
    for page in "$SOURCE"/man/*.scd; do
        page=$(basename "$page" .scd)
        [ -s "$at/share/man/man${page##*.}/$page" ] || { echo "no $page"; return 1; }
    done
}
has_completions() {
    bash -n "$at/share/bash-completion/completions/redlock" &&
        grep -q '^#compdef redlock' "$at/share/zsh/site-functions/_redlock" &&
        grep -q 'complete -c redlock' "$at/share/fish/vendor_completions.d/redlock.fish"
}
# shellcheck disable=SC2016 # for the inner bash
completes() {
    bash -c '. "$1" && COMP_WORDS=(redlock ru) COMP_CWORD=1 && _redlock && [ "${COMPREPLY[*]}" = run ]' - \
        "$at/share/bash-completion/completions/redlock"
}
holds "the installed command finds its library" env -u LD_LIBRARY_PATH "$at/bin/redlock" version
holds "every manual page is there" has_pages
holds "completions for bash, zsh and fish are there" has_completions
holds "bash completes redlock ru" completes

# ---- the list of what is linked
lists_what_is_linked() {
    "$SOURCE/tools/make-sbom" "$BUILD" >"$work/sbom.json" &&
        readelf -dW "$BUILD/src/libredlock.so" "$BUILD/src/redlock" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | grep -v '^libredlock' |
        sort -u | diff - <(python3 -c 'import json, sys
print("\n".join(sorted(c["name"] for c in json.load(sys.stdin)["components"] if ".so" in c["name"])))' <"$work/sbom.json")
}
lists_versions() { python3 -c 'import json, sys; sys.exit(" ".join(c["name"] for c in json.load(sys.stdin)["components"] if "version" not in c) or None)' <"$work/sbom.json"; }
# An address has few signs: a + in a version is written as %2B.
addresses_packages() {
    python3 -c 'import json, re, sys, urllib.parse
found = [c for c in json.load(sys.stdin)["components"] if "purl" in c]
for c in found:
    form = re.fullmatch("pkg:deb/debian/[a-z0-9.%2B-]+@([A-Za-z0-9.:_~%-]+)", c["purl"])
    if not form or urllib.parse.unquote(form[1]) != c["version"]:
        sys.exit(c["purl"])
sys.exit(not found)' <"$work/sbom.json"
}
holds "the list of what is linked has every library" lists_what_is_linked
if command -v dpkg-query >/dev/null; then
    holds "with its version" lists_versions
    holds "and the address of its package" addresses_packages
else
    holds "with its version # SKIP the list asks dpkg" true
fi

# ---- make install and make uninstall, where somebody else has files in the same folders
other=$work/other$prefix
mkdir -p "$other/bin" "$other/lib" "$other/include" "$other/share/man/man1"
touch "$other/bin/theirs" "$other/lib/theirs" "$other/share/man/man1/theirs.1"
find "$other" | LC_ALL=C sort >"$work/before"
# Into a stage with the prefix that is configured: the build folder stays as it is, for others use it at the same time.
install_there() { "$SOURCE/tools/install" "$@" "$BUILD" "$prefix" "$work/other"; }
installs_for_real() { install_there && env -u LD_LIBRARY_PATH "$other/bin/redlock" version; }
removes() { install_there --remove && find "$other" | LC_ALL=C sort | diff "$work/before" -; }
holds "make install installs where somebody else has files" installs_for_real
holds "and removes what it installed, and nothing else" removes

# ---- without the right to write
says_what_to_do() {
    local words status=0
    mkdir "$work/locked"
    words=$(setpriv --reuid 65534 --clear-groups "$SOURCE/tools/install" "$work/locked-build" "$work/locked" 2>&1) ||
        status=$?
    echo "$words"
    [ "$status" -eq 77 ] && [[ $words == *"run: sudo make install"* ]] && [ ! -e "$work/locked-build" ]
}
name="without the right to write it says what to do, and does nothing"
chmod 755 "$work"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups test -x "$SOURCE/tools/install"; then
    holds "$name" says_what_to_do
else
    holds "$name # SKIP nobody's rights cannot be tried here" true
fi
done_testing

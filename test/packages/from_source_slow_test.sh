#!/usr/bin/env bash
# Others build us from source: a release archive on a machine without scdoc, git and TLS, and a project of meson that has us
# as a subproject and builds nothing but the library.
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=test/packages/lib.sh
. "$(dirname "$0")/lib.sh"

git -C "$SOURCE" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "1..0 # SKIP not a git checkout"; exit 0; }
unpack() {
    "$SOURCE/tools/make-dist" "$work/dist" && tar -xf "$work/dist/redlock-$version.tar.xz" -C "$work"
}
source=$work/redlock-$version
# That it builds is asked here, four times, and not how fast the outcome is.
set_up() { meson setup --buildtype plain "$@"; }
# Every program but scdoc and git.
hide() {
    local folder file
    mkdir "$work/bin"
    IFS=: read -ra folders <<<"$PATH"
    for folder in "${folders[@]}"; do
        for file in "$folder"/*; do
            case ${file##*/} in
                scdoc | git | '*') ;;
                *) [ -e "$work/bin/${file##*/}" ] || ln -s "$file" "$work/bin/${file##*/}" ;;
            esac
        done
    done
    ! PATH=$work/bin bash -c 'command -v scdoc || command -v git'
}
builds_without_scdoc() {
    PATH=$work/bin set_up "$work/plain" "$source" -Dtests=disabled -Dprefix=/usr && PATH=$work/bin ninja -C "$work/plain" &&
        DESTDIR=$work/stage PATH=$work/bin meson install -C "$work/plain" --no-rebuild --quiet
}
is_a_page() { grep -q '^.TH "redlock" "1"' "$work/stage/usr/share/man/man1/redlock.1" && [ -s "$work/stage/usr/share/man/man3/redlock_acquire.3" ]; }
has_no_run_path() { ! readelf -d "$work/stage/usr/bin/redlock" | grep -E 'R(UN)?PATH'; }
holds "the archive unpacks" unpack
holds "a machine without scdoc and git" hide
holds "there the archive builds and installs" builds_without_scdoc
holds "with its manual pages" is_a_page
holds "below /usr the command has no run path" has_no_run_path

# ---- without TLS
builds_without_tls() {
    set_up "$work/bare" "$source" -Dtests=disabled -Dtls=disabled && ninja -C "$work/bare"
}
needs_no_openssl() { ! readelf -d "$work/bare/src/libredlock.so" | grep -E 'libssl|libcrypto'; }
refuses_tls() {
    local words status=0
    words=$("$work/bare/src/redlock" status x --nodes rediss://127.0.0.1:1 2>&1) || status=$?
    echo "$words"
    [ "$status" -ne 0 ] && [[ $words == *"this build has no TLS"* ]]
}
holds "it builds without TLS" builds_without_tls
holds "which needs no OpenSSL" needs_no_openssl
holds "and refuses a rediss:// node by a clear error" refuses_tls

# ---- a subproject
mkdir -p "$work/project/subprojects"
cp "$work/user.c" "$work/project/"
ln -s "$source" "$work/project/subprojects/redlock"
cat >"$work/project/meson.build" <<'END'
project('user', 'c')
executable('user', 'user.c', dependencies: dependency('redlock', fallback: 'redlock'))
END
as_subproject() {
    local folder=$1
    shift
    set_up "$folder" "$work/project" --force-fallback-for=redlock "$@" && ninja -C "$folder" && runs "$folder/user"
}
builds_only_the_library() {
    local folder=$work/sub/subprojects/redlock
    [ -e "$folder/src/libredlock.so" ] && [ ! -e "$folder/src/redlock" ] && [ ! -e "$folder/test" ] && [ ! -e "$folder/man" ]
}
# In C++, where there is a compiler for it: one build for both.
in_cpp() {
    cp "$work/user.cpp" "$work/project/"
    printf '%s\n' "project('user', 'cpp', 'c', default_options: ['cpp_std=c++17'])" \
        "executable('user', 'user.cpp', dependencies: [dependency('redlock', fallback: 'redlock'), dependency('threads')])" \
        >"$work/project/meson.build"
}
has_us_inside() { as_subproject "$work/sub-static" -Ddefault_library=static && is_free_of "$work/sub-static/user" libredlock; }
holds "a project builds us as a subproject, and its program runs" as_subproject "$work/sub"
holds "nothing but the library is built" builds_only_the_library
language=C
if command -v c++ >/dev/null; then
    in_cpp
    language=C++
fi
holds "with default_library=static a program in $language has us inside" has_us_inside
done_testing

#!/usr/bin/env bash
# The release archive is the same bytes whoever makes it, whenever and wherever, and has what a build without git and scdoc
# needs. It is not built here; from_source_slow_test.sh does that.
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=test/packages/lib.sh
. "$(dirname "$0")/lib.sh"

git -C "$SOURCE" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "1..0 # SKIP not a git checkout"; exit 0; }
archive=redlock-$version.tar.xz
# A copy elsewhere, with files as new as can be.
git clone -q --shared "$SOURCE" "$work/clone" 2>/dev/null
git -C "$work/clone" checkout -q --detach "$(git -C "$SOURCE" rev-parse HEAD)"

make_here() { "$SOURCE/tools/make-dist" "$work/one"; }
make_elsewhere() { (umask 077 && cd / && TZ=Asia/Kathmandu LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH=1 "$work/clone/tools/make-dist" "$work/two"); }
same() { cmp "$work/one/$archive" "$work/two/$archive"; }
has_pages() {
    local page
    for page in "$SOURCE"/man/*.scd; do
        tar -tf "$work/one/$archive" | grep -qx "redlock-$version/man/made/$(basename "$page" .scd)" || return 1
    done
}
has_all_files() {
    diff <(git -C "$SOURCE" ls-files | grep -v ^debian/ | LC_ALL=C sort) \
        <(tar -tf "$work/one/$archive" | grep -v -e '/$' -e /man/made/ | cut -d/ -f2- | LC_ALL=C sort)
}
sum_is_right() { (cd "$work/one" && sha256sum -c --quiet "$archive.sha256"); }
committed=$(git -C "$SOURCE" show HEAD:tools/make-dist 2>/dev/null)
[ -n "$committed" ] || { echo "1..0 # SKIP the last commit has no tools/make-dist"; exit 0; }
holds "an archive is made" make_here
holds "and again from a clone, elsewhere, by another clock" make_elsewhere
holds "both are the same bytes" same
holds "it has every file of the commit, but for those of Debian" has_all_files
holds "it has every manual page made" has_pages
holds "its checksum is right" sum_is_right
done_testing

#!/usr/bin/env bash
# A release is one version everywhere it is written down, and the tools that want the release before it find it: with tags, without, at
# a release itself, and in a shallow clone. Nothing is built here; make chaos-mixed and make abi-report do.
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=test/packages/lib.sh
. "$(dirname "$0")/lib.sh"

# is WORD WORD: so that a difference is shown.
is() { [ "$1" = "$2" ] || { echo "$1 in place of $2"; return 1; }; }
header_has() { is "$(sed -nE 's/^#define REDLOCK_VERSION "(.*)"/\1/p' "$SOURCE/include/redlock.h")" "$version"; }
number_has() {
    local major minor patch
    IFS=. read -r major minor patch <<<"$version"
    is "$(sed -nE 's/^#define REDLOCK_VERSION_NUMBER ([0-9]+).*/\1/p' "$SOURCE/include/redlock.h")" "$((10000 * major + 100 * minor + patch))"
}
changelog_has() { is "$(sed -nE 's/^## \[([0-9.]+)\].*/\1/p' "$SOURCE/CHANGELOG.md" | head -n 1)" "$version"; }
notes_have() { grep -q "^| .* | ${version%.*} | " "$SOURCE/docs/releases.md" && grep -q "^| ${version%.*} | " "$SOURCE/docs/releases.md"; }
# The day of the release is one, too.
package_is_of_the_day() {
    local day
    day=$(sed -nE '/^ -- /{s/.*>  //p;q}' "$SOURCE/debian/changelog")
    is "$(date -u -d "$day" +%F)" "$(sed -nE 's/^## \[[0-9.]+\] - //p' "$SOURCE/CHANGELOG.md" | head -n 1)"
}
package_has() { is "$(sed -nE '1s/^redlock \((.*)-[^-]*\).*/\1/p' "$SOURCE/debian/changelog")" "$version"; }
soname=$(readelf -dW "$BUILD/src/libredlock.so" | sed -nE 's/.*\(SONAME\).*\[libredlock\.so\.(.*)\]/\1/p')
soname_is_packaged() {
    grep -q "^Package: libredlock$soname$" "$SOURCE/debian/control" && head -n 1 "$SOURCE/debian/libredlock$soname.symbols" |
        grep -q "^libredlock.so.$soname libredlock$soname "
}
command_has() { is "$("$REDLOCK" version)" "redlock $version"; }
# The Python package asks the library, and the wheel is given the version of the build.
python_has() {
    is "$(LIBREDLOCK=$BUILD/src/libredlock.so.$soname PYTHONPATH=$SOURCE/python PYTHONDONTWRITEBYTECODE=1 python3 -c \
        'import libredlock; from libredlock import _library; print(libredlock.__version__, _library.SONAME)')" "$version libredlock.so.$soname"
}
wheel_has() { grep -q "^soname=libredlock.so.$soname$" "$SOURCE/tools/make-wheel" && grep -q '^REDLOCK_VERSION=.*--projectinfo' "$SOURCE/tools/make-wheel"; }
policy_has() { grep -q "^| ${version%.*} | .libredlock.so.$soname. | .libredlock$soname. |" "$SOURCE/docs/releases.md"; }
# A name cannot have come with a version that is not there yet.
symbols_are_of_versions() {
    awk '$1 ~ /@/ { print $2 }' "$SOURCE/debian/libredlock$soname.symbols" | sort -u >"$work/versions"
    echo "$version" >>"$work/versions"
    is "$(sort -V "$work/versions" | tail -n 1)" "$version"
}
holds "redlock.h has the version" header_has
holds "and its number" number_has
holds "the command says it" command_has
holds "the Python package says it, and loads the library of this soname" python_has
holds "so does the wheel" wheel_has
holds "CHANGELOG.md has the version on top" changelog_has
holds "the upgrade notes say what to do from it and to it" notes_have
holds "they name the soname of this version" policy_has
if [ -d "$SOURCE/debian" ]; then
    holds "debian/changelog has the version on top" package_has
    holds "and the day that CHANGELOG.md has" package_is_of_the_day
    holds "the package of the library is named after its soname" soname_is_packaged
    holds "the symbols of the package came with versions up to this one" symbols_are_of_versions
else
    holds "debian/ # SKIP a release archive has none" true
fi

# ---- the release before this one
git -C "$SOURCE" rev-parse -q --verify HEAD >/dev/null 2>&1 || done_testing
first=$(sed -nE 's/^first_release=([0-9a-f]{40}).*/\1/p' "$SOURCE/tools/build-previous")
git -C "$SOURCE" cat-file -e "$first" 2>/dev/null || { echo "# the first release is not in this clone"; done_testing; }
git clone -q --shared --no-tags "$SOURCE" "$work/clone" 2>/dev/null
git -C "$work/clone" checkout -q --detach "$(git -C "$SOURCE" rev-parse HEAD)"
cp "$SOURCE/tools/build-previous" "$work/clone/tools/"
# which FOLDER [REVISION]: what is taken in that clone; what it says is in $work/said.
which() {
    local clone=$1
    shift
    "$clone/tools/build-previous" --which "$@" 2>"$work/said"
}
without_a_tag() { is "$(which "$work/clone")" "$first" && grep -q "taking 0.1.0" "$work/said"; }
named() { is "$(which "$work/clone" HEAD)" "$(git -C "$work/clone" rev-parse HEAD)" && [ ! -s "$work/said" ]; }
a_missing_one() {
    local status=0
    which "$work/clone" v99.0 || status=$?
    is "$status" 65 && grep -q 'no revision v99.0 here; run: git fetch' "$work/said"
}
tag() { git -C "$work/clone" -c user.name=test -c user.email=test@example.org tag "$@"; }
the_newest_tag() {
    tag v0.1.7 "$first" && tag v0.1.8 HEAD~1 &&
        is "$(which "$work/clone")" "$(git -C "$work/clone" rev-parse HEAD~1)" && [ ! -s "$work/said" ]
}
not_itself() { tag v0.1.9 HEAD && is "$(which "$work/clone")" "$(git -C "$work/clone" rev-parse HEAD~1)"; }
in_a_shallow_clone() {
    git clone -q --depth 1 "file://$work/clone" "$work/shallow" && cp "$SOURCE/tools/build-previous" "$work/shallow/tools/" &&
        git -C "$work/shallow" tag -d v0.1.9 && ! git -C "$work/shallow" cat-file -e "$first" && is "$(which "$work/shallow")" "$first" &&
        git -C "$work/shallow" archive "$first" >/dev/null
}
without_its_origin() {
    local status=0
    git clone -q --depth 1 "file://$work/clone" "$work/alone" && cp "$SOURCE/tools/build-previous" "$work/alone/tools/" &&
        git -C "$work/alone" remote set-url origin "$work/nowhere"
    which "$work/alone" || status=$?
    is "$status" 65 && grep -q 'git fetch --unshallow --tags' "$work/said"
}
holds "without a tag the release before this one is the first, and that is said" without_a_tag
holds "a revision that is named is taken" named
holds "one that is not there is refused, with the remedy" a_missing_one
holds "the newest tag is taken" the_newest_tag
holds "a release is not the one before itself" not_itself
holds "in a shallow clone it is fetched" in_a_shallow_clone
holds "and where that fails the remedy is named" without_its_origin
done_testing

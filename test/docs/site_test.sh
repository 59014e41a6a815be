#!/usr/bin/env bash
# make docs: the site has the guides, every manual page and every function of the header, all links lead somewhere, nothing is loaded from
# elsewhere, and its search finds what people ask. Without Chromium the search is not tried.
# shellcheck disable=SC2317 # checks are called by name
set -u

: "${SOURCE:?is the source tree}"
work=$(mktemp -d "${TMPDIR:-/tmp}/site.XXXXXX")
trap 'rm -rf "$work"' EXIT
tests=0
failures=0
ok() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $name"
        sed 's/^/# /' "$work/log"
    fi
}
finish() {
    echo "1..$tests"
    exit "$((failures > 0))"
}
make_site() { "$1/tools/make-docs" "$work/site" >"$work/log" 2>&1; }

for program in cmark-gfm mandoc scdoc; do
    command -v "$program" >/dev/null || { echo "1..0 # SKIP there is no $program"; exit 0; }
done
ok 'the site is made, and its links lead somewhere' make_site "$SOURCE"
ok 'it is made again in the same place' make_site "$SOURCE"
has_all() {
    local file missing=''
    for file in "$SOURCE"/docs/*.md; do
        file=$(basename "$file" .md)
        [ "$file" = README ] || [ -s "$work/site/$file.html" ] || missing+=" $file"
    done
    for file in "$SOURCE"/man/*.scd; do
        [ -s "$work/site/man/$(basename "$file" .scd).html" ] || missing+=" $file"
    done
    echo "missing:$missing" >"$work/log"
    [ -z "$missing" ]
}
ok 'with every guide and every manual page' has_all
has_functions() {
    local name missing=''
    for name in $(tr '\n' ' ' <"$SOURCE/include/redlock.h" | grep -oE 'REDLOCK_API[^;(]*\(' | grep -oE 'redlock_[a-z_]+\(' | tr -d '('); do
        grep -q "<h3 id=\"$name\">" "$work/site/api.html" || missing+=" $name"
    done
    echo "missing:$missing" >"$work/log"
    [ -z "$missing" ]
}
ok 'and every function of the header' has_functions
loads_nothing() { ! grep -rnE '(src|srcset)="(https?:)?//|@import|url\((https?:)?//|<link[^>]*href="https?:' "$work/site" --include=*.html --include=*.css >"$work/log"; }
ok 'nothing is loaded from elsewhere' loads_nothing
ok 'manual pages that a guide names are links' grep -qF '<a href="man/redlock.1.html">redlock(1)</a>' "$work/site/jobs.html"
mkdir "$work/other"
touch "$work/other/mine"
refuses() { ! "$SOURCE/tools/make-docs" "$work/other" >"$work/log" 2>&1 && [ -e "$work/other/mine" ]; }
ok 'a folder with other files is left alone' refuses

mkdir "$work/copy"
cp -r "$SOURCE"/{*.md,LICENSE,meson.build,docs,man,tools,examples,include,contrib,model,python} "$work/copy"
echo 'See [this](choosing.md#no-such-heading).' >>"$work/copy/docs/failures.md"
notices() { ! make_site "$work/copy" && grep -q 'failures.html: choosing.html#no-such-heading has no such anchor' "$work/log"; }
ok 'an anchor that is not there is noticed' notices

command -v chromium >/dev/null || { ok 'its search # SKIP there is no chromium' true; finish; }
make_site "$SOURCE"
# finds WORDS PLACE: the first result leads there.
finds() {
    HOME=$work timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/chromium" --virtual-time-budget=2000 \
        --dump-dom "file://$work/site/index.html?q=$1" 2>/dev/null | grep -oE '<div id="results".*' | grep -oE 'href="[^"]*"' | head -n 5 >"$work/log"
    grep -q "\"$2" "$work/log"
}
ok 'its search finds a function' finds redlock_extend 'man/redlock_extend.3.html'
ok 'and answers a question' finds 'how%20many%20nodes%3F' choosing.html
ok 'with a word that no page has, it goes by the others' finds 'barrier%20xyzzy' jobs.html
ok 'it knows exit codes' finds 'exit%20codes' 'jobs.html#exit-codes'
ok 'also in the manual' finds 'exit%20codes' 'man/redlock.1.html#EXIT_STATUS'
finish

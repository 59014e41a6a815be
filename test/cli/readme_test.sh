#!/usr/bin/env bash
# README.md and docs/ are true: their C is part of examples that are compiled and run, their shell lines run as they stand,
# files, targets and tests that they name are there, and make demo does what it says without a terminal.
# shellcheck disable=SC2016,SC2317 # backquotes are those of the pages; checks are called by name
. "$(dirname "$0")/lib.sh"

cd "$SOURCE" || exit 1
pages=(README.md docs/*.md)

# each NAME COMMAND...: passes when the command succeeds for every line of stdin, and there is one.
each() {
    local name=$1 line wrong='' count=0
    shift
    while IFS= read -r line; do
        count=$((count + 1))
        "$@" "$line" || wrong+="$line; "
    done
    ok "$name" equals "$((count > 0)) $wrong" '1 '
}

# blocks PAGE LANGUAGE FOLDER: writes each code block of a language to FOLDER/1, FOLDER/2, ...
blocks() {
    mkdir -p "$3"
    awk -v start="\`\`\`$2" -v folder="$3" '
        /^```/ { if (inside) { inside = 0; close(file) } else if ($0 == start) { inside = 1; file = folder "/" ++count } next }
        inside { print >file }' "$1"
}

# is_part_of BLOCK FILE...: its lines stand in one of the files, one after the other.
is_part_of() {
    local block file
    block=$(<"$1")
    shift
    for file; do
        [[ $(<"$file") == *"$block"* ]] && return 0
    done
    return 1
}
is_example() { is_part_of "$1" examples/*.c; }
is_example_in_cpp() { is_part_of "$1" examples/*.cpp; }

# ---- code
blocks README.md c "$work/c"
each 'C in the README is that of the examples' is_example < <(find "$work/c" -type f)

blocks docs/cpp.md cpp "$work/cpp"
ok 'the first C++ in its page is that of an example' is_example_in_cpp "$work/cpp/1"

# Without configured nodes the local ones start by themselves, as the README says.
mkdir "$work/bin" "$work/here"
for program in make-report backup; do
    printf '#!/bin/sh\necho "%s ran"\n' "$program" >"$work/here/$program"
    chmod +x "$work/here/$program"
done
ln -s "$REDLOCK" "$work/bin/redlock"
PATH=$work/bin:$PATH
runs() {
    is_part_of "$1" examples/shell/*.sh && return 0
    (cd "$work/here" && sh -eu "$1") >"$work/out" 2>"$work/err" </dev/null
    code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
    [ "$code" -eq 0 ]
}
blocks README.md sh "$work/sh"
each 'shell lines in the README run, or are those of the examples' runs < <(find "$work/sh" -type f | sort)
ok 'the first one runs its command' runs "$work/sh/1"
is 'and nothing else is on stdout' "$out" 'make-report ran'
try local stop

# ---- what is named
is_there() { [ -e "${1%%#*}" ]; }
links() {
    local page
    for page in "${pages[@]}"; do
        grep -oE '\]\([^)#:]+\)' "$page" | sed -E "s,^\]\((.*)\)\$,$(dirname "$page")/\1,"
    done
}
each 'links lead to files' is_there < <(links)
each 'files that are named are there' is_there \
    < <(grep -ohE '(^|[^A-Za-z0-9_./-])(src|test|tools|bench|examples|man|include|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_]' "${pages[@]}" |
        sed -E 's,^[^a-z],,' | grep -v NAME | sort -u)
is_target() { grep -q "^$1:" Makefile; }
each 'make targets that are named are there' is_target \
    < <(grep -ohE '(^|`)make [a-z-]+' "${pages[@]}" | sed 's/.*make //' | sort -u)
# A name of a test is a sentence in backquotes: at least three words.
is_test() { grep -rqwF "$1" test || grep -rqwF "$1" src include; }
each 'tests that are named are there' is_test \
    < <(grep -ohE '`[a-z0-9]+(_[a-z0-9]+){2,}`' "${pages[@]}" | tr -d '`' | sort -u)

# ---- the demo
env REDLOCK="$REDLOCK" TMPDIR="$work" tools/demo >"$work/out" 2>"$work/err" </dev/null
code=$?
out=$(tail -n 20 "$work/out")
err=$(<"$work/err")
is 'the demo does what it says' "$code:$err" 0:
ok 'without colours where there is no terminal' lacks "$(<"$work/out")" $'\e'
is 'and leaves nothing behind' "$(find "$work" -maxdepth 1 -name 'redlock.*')" ''
done_testing

#!/usr/bin/env bash
# Files, targets and tests that README.md and docs/ name are there, and make demo does what it says without a terminal. Their commands
# are run by test/docs, their links and marks checked by tools/check-docs.
# shellcheck disable=SC2016,SC2317 # backquotes are those of the pages; checks are called by name
. "$(dirname "$0")/lib.sh"

cd "$SOURCE" || exit 1
pages=(README.md docs/*.md)

# ---- what is named
is_there() { [ -e "${1%%#*}" ]; }
each_line 'files that are named are there' is_there \
    < <(grep -ohE '(^|[^A-Za-z0-9_./-])(src|test|tools|bench|examples|man|include|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_]' "${pages[@]}" |
        sed -E 's,^[^a-z],,' | grep -v NAME | sort -u)
is_target() { grep -qE "^([a-z-]+ )*$1( [a-z-]+)*:" Makefile; }
each_line 'make targets that are named are there' is_target \
    < <(grep -ohE '(^|`)make [a-z-]+' "${pages[@]}" | sed 's/.*make //' | sort -u)
# A name of a test is a sentence in backquotes: at least three words.
is_test() { grep -rqwF "$1" test || grep -rqwF "$1" src include; }
each_line 'tests that are named are there' is_test \
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

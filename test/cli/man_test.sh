#!/usr/bin/env bash
# The manual pages are whole and true to the header, the command and the examples: nothing public is left out, nothing is
# named that is not there, and every example is part of a file that the build compiles and examples_test runs.
# shellcheck disable=SC2016,SC2317 # single quotes are for other programs; checks are called by name
. "$(dirname "$0")/lib.sh"

command -v scdoc >/dev/null || { echo '1..0 # SKIP without scdoc there are no pages'; exit 0; }
header=$SOURCE/include/redlock.h
manual=$SOURCE/man/redlock.1.scd
configuration=$SOURCE/man/redlock.conf.5.scd
pages=("$SOURCE"/man/*.scd)

squeeze() { tr -s ' \t\n' ' '; }
without_comments() { sed -E 's,/\*[^*]*(\*[^/][^*]*)*\*/,,g'; }

# section PAGE TITLE: the lines of one section.
section() {
    awk -v title="# $2" '/^```$/ { block = !block } !block && /^# / { inside = $0 == title; next } inside' "$1"
}

# unescape: what scdoc makes of backslashes.
unescape() { sed -E 's/\\(.)/\1/g'; }

# ---- they are built, found and clean
mkdir -p "$work/man/man1" "$work/man/man3" "$work/man/man5"
for built in "$BUILD"/man/*.[135]; do
    cp "$built" "$work/man/man${built##*.}/"
done
passes_scdoc() { scdoc <"$SOURCE/man/$1.scd" >/dev/null; }
is_built() { [ -s "$BUILD/man/$1" ]; }
renders() {
    MANROFFSEQ='' MANWIDTH=100 LC_ALL=C.UTF-8 man --warnings -P cat -l "$BUILD/man/$1" >"$work/out" 2>"$work/err"
    err=$(<"$work/err")
    [ -s "$work/out" ] && [ -z "$err" ]
}
leads_somewhere() {
    local target
    target=$(sed -n 's/^\.so //p' "$1")
    [ -z "$target" ] || [ -s "$work/man/$target" ]
}
names=$(basename -s .scd "${pages[@]}")
each_line 'every page passes scdoc' passes_scdoc <<<"$names"
each_line 'every page is built' is_built <<<"$names"
each_line 'every link page leads to a page' leads_somewhere < <(find "$work/man" -type f)
with_man=false
man --version >/dev/null 2>&1 && [ -n "$(man -P cat -l "$BUILD/man/redlock.1" 2>/dev/null)" ] && with_man=true
if $with_man; then
    each_line 'every page renders without a warning' renders <<<"$names"
else
    ok 'every page renders without a warning # SKIP there is no man' true
fi

# ---- every public function, as the header has it
sed '/^#/d' "$header" | squeeze | without_comments | tr ';' '\n' |
    sed -nE 's/\( /(/g; s/.*REDLOCK_API (REDLOCK_MUST_CHECK )?(.*)/\2;/p' >"$work/declarations"
sed -nE 's/^[^(]*[ *](redlock_[a-z_]+)\(.*/\1/p' "$work/declarations" >"$work/functions"
for page in "$SOURCE"/man/*.3.scd; do
    section "$page" SYNOPSIS
done | squeeze >"$work/synopses"
in_a_synopsis() { grep -qF "$1" "$work/synopses"; }
has_page() { [ -s "$work/man/man3/$1.3" ]; }
is_found() { man -M "$work/man" -w 3 "$1" >/dev/null 2>&1; }
is 'the header is read right' "$(sort "$work/functions")" "$(sort "$SOURCE/test/abi/exported-symbols")"
each_line 'every declaration is in a synopsis as it is in the header' in_a_synopsis <"$work/declarations"
each_line 'every function has a page or a link to one' has_page <"$work/functions"
if $with_man; then
    each_line 'man finds every function' is_found <"$work/functions"
else
    ok 'man finds every function # SKIP there is no man' true
fi

# ---- every result, every verdict and every member of the structures that callers see
# explained_in PAGE WORD
explained_in() { grep -qE "\*$2\*" "$SOURCE/man/$1.scd"; }
enumerators() { sed -n "/^typedef enum $1 /,/^}/p" "$header" | grep -oE '^ +REDLOCK_[A-Z_]+' | tr -d ' '; }
members() {
    sed -n "/^typedef struct $1 {/,/^}/p" "$header" | sed '1d;$d' | squeeze | without_comments | tr ';' '\n' |
        sed -E 's/.*\(\*([a-z_]+)\)\(.*/ \1/; s/\[[^]]*\]//g; s/^ ?[a-z_0-9 ]+ \*?([a-z_]+)/\1/; s/,//g' |
        tr -s ' ' '\n' | grep .
}
each_line 'redlock.3 explains every result' explained_in redlock.3 < <(enumerators redlock_result)
each_line 'redlock_report.3 explains every verdict' explained_in redlock_report.3 < <(enumerators redlock_verdict)
each_line 'redlock_report.3 explains every cause' explained_in redlock_report.3 < <(enumerators redlock_cause)
while read -r struct page; do
    each_line "$page explains every member of $struct" explained_in "$page" < <(members "$struct")
done <<'END'
redlock_options redlock_client_open.3
redlock_spec redlock_acquire.3
redlock_report redlock_report.3
redlock_node_report redlock_report.3
redlock_waiter redlock_report.3
redlock_holder redlock_holder_parse.3
redlock_stats redlock_client_stats.3
redlock_node_stats redlock_client_stats.3
redlock_histogram redlock_client_stats.3
redlock_listed redlock_list.3
redlock_list_spec redlock_list.3
redlock_event redlock_list.3
redlock_break_spec redlock_break.3
redlock_barrier_spec redlock_barrier.3
redlock_legacy_spec redlock_legacy_acquire.3
END

# ---- the command
options_of() {
    "$REDLOCK" help "$1" | sed -nE 's/^ +(-[a-zA-Z](, --[a-z-]+)?|--[a-z-]+)( .*)?$/\1/p' | tr -d , | tr ' ' '\n'
}
explains_command() { grep -qF "*redlock $1*" "$manual"; }
explains_option() { grep -qE -- "[* ]$1(\*|,)" "$manual"; }
is_an_option() { grep -qxF -- "$1" "$work/options"; }
explains_code() { section "$manual" 'EXIT STATUS' | grep -qE "^\*([0-9]+\*, \*)*$1\*"; }
"$REDLOCK" help | sed -nE 's/^  ([a-z]+)( .*)?$/\1/p' >"$work/commands"
each_line 'redlock.1 explains every command' explains_command <"$work/commands"
while read -r command; do
    each_line "redlock.1 explains every option of $command" explains_option < <(options_of "$command")
    options_of "$command" >>"$work/options"
done <"$work/commands"
echo --version >>"$work/options" # in place of a command
each_line 'and no option that is not there' is_an_option < \
    <(grep -oE -- '\*(-[a-zA-Z], )?--[a-z-]+\*' "$manual" | grep -oE -- '--[a-z-]+' | sort -u)
each_line 'redlock.1 explains every exit code' explains_code < \
    <(sed -nE '/SIGNAL/d; s/.*CLI_EXIT_[A-Z_]+ = ([0-9]+).*/\1/p' "$SOURCE/src/cli/exits.h")
in_the_guide() { sed -n '/^## Exit codes/,$p' "$SOURCE/docs/jobs.md" | grep -qE "^\| ([0-9]+, )*$1[ ,]"; }
each_line 'so does docs/jobs.md' in_the_guide < \
    <(sed -nE '/SIGNAL/d; s/.*CLI_EXIT_[A-Z_]+ = ([0-9]+).*/\1/p' "$SOURCE/src/cli/exits.h")
each_line 'redlock.1 explains every variable' explained_in redlock.1 < \
    <(grep -ohE '"(REDLOCK_[A-Z_]+|NO_COLOR)"' "$SOURCE"/src/cli/*.c | tr -d '"' | sort -u)

# ---- the configuration file
is_a_key() {
    printf '%s = ?\n' "$1" >"$work/key.conf"
    try status --config "$work/key.conf"
    lacks "$err" 'unknown key'
}
section "$configuration" KEYS | grep '^\*' | tr -d '*,' | tr ' ' '\n' >"$work/keys"
each_line 'every key of redlock.conf.5 is one' is_a_key <"$work/keys"
each_line 'redlock.conf.5 explains every key' explained_in redlock.conf.5 < \
    <(grep -oE '(strcmp\(key, |\{)"[a-z_]+"' "$SOURCE/src/cli/config_file.c" | grep -oE '[a-z_]+"' | tr -d '"')
sed "s,rediss://lock-\([0-9]\)[a-z.:0-9]*,unix://$work/n\1.sock,g" "$SOURCE/examples/redlock.conf" >"$work/redlock.conf"
(umask 077 && echo secret >"$work/redlock.password")
exits 'its example is understood' 69 status --config "$work/redlock.conf"
ok 'with all its nodes' has "$out" "$work/n5.sock"

# ---- examples are parts of files that are compiled and run
# For each block of the EXAMPLE sections: the file named last before it, the block, a line @@.
examples_of() {
    awk '/^```$/ { block = !block; if (inside) print block ? file : "@@"; next }
        !block && /^# / { inside = /^# EXAMPLES?$/; next }
        !inside { next }
        block { print; next }
        match($0, /examples\/[a-z_\/]+(\.[a-z]+)+/) { file = substr($0, RSTART, RLENGTH) }' "$1" | unescape
}
is_part_of() {
    local whole
    whole=$'\n'$(<"$SOURCE/$1")$'\n'
    [ -n "$2" ] && [[ $whole == *$'\n'"$2"* ]]
}
has_true_examples() {
    local file line block
    examples_of "$SOURCE/man/$1.scd" >"$work/examples"
    [ -s "$work/examples" ] || return 1
    while IFS= read -r file; do
        block=''
        while IFS= read -r line && [ "$line" != @@ ]; do
            block+=$line$'\n'
        done
        is_part_of "$file" "$block" || return 1
    done <"$work/examples"
}
each_line 'every page has examples, and each is part of the file it names' has_true_examples <<<"$names"

# ---- shape and cross references
has_sections() {
    local title
    for title in NAME DESCRIPTION 'SEE ALSO'; do
        grep -qx "# $title" "$SOURCE/man/$1.scd" || return 1
    done
}
exists() {
    local target=${1%(*}.${1: -2:1}
    [ -s "$work/man/man${target##*.}/$target" ]
}
each_line 'every page has its sections' has_sections <<<"$names"
each_line 'every page that is referred to exists' exists < \
    <(grep -ohE '\*(lib)?redlock[a-z_.]*\*\([135]\)' "${pages[@]}" | tr -d '*' | sort -u)
done_testing

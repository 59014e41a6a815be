#!/usr/bin/env bash
# On a terminal: the live line, colours, and job control, with an interactive shell on a pseudo-terminal.
# shellcheck disable=SC2016,SC2317 # single quotes are for the shell inside redlock; checks are called by name
. "$(dirname "$0")/lib.sh"

start_nodes
export TERM=xterm LC_ALL=C.UTF-8

# shell WORD...: talks to an interactive shell.
shell() {
    talk env PS1='$ ' bash --norc --noprofile -i THEN "$@"
}
vacating="for n in $work/n?.sock; do redis-cli -s \$n DEL a >/dev/null; done"

# ---- the live line
occupy a
talk "$REDLOCK" run a -- echo ran THEN '?0:01 a is held by' '?pg_dump prod' "&$vacating" '?ran'
is 'a waiting person sees a live line' "$code" 0
ok 'that says who and how long' matches "$out" \
    'a is held by web-3 \(pid 4242, user deploy, "pg_dump prod"\) for [0-9]+d[0-9]+h · [0-9]+m[0-9]+s left'
ok 'with a moving sign' matches "$out" '[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] [0-9]+:[0-9]+ a is held'
ok 'it is redrawn, not repeated' lacks "${out%%acquired*}" $'\n'
ok 'and gone in the end' has "$out" $'\r\033[K'
occupy a
LC_ALL=C talk "$REDLOCK" run a -- echo ran THEN '?pg_dump prod' "&$vacating" '?ran'
ok 'a terminal without UTF-8 gets none' lacks "$out" '⠋'
occupy a
TERM=dumb talk "$REDLOCK" run a -- echo ran THEN '?; waiting' "&$vacating" '?ran'
is 'a dumb terminal gets lines' "$code" 0
occupy a
talk "$REDLOCK" run a -- touch "$work/ran" THEN '?pg_dump prod' '!\x03'
ok 'Ctrl-C ends the waiting' test ! -e "$work/ran"
is 'and leaves the lock alone' "$(copies a)" 5
vacate a

# ---- colours
talk "$REDLOCK" run --no-such-option a true THEN
ok 'errors are coloured' has "$out" $'\033[31m'
talk "$REDLOCK" run --no-color --no-such-option a true THEN
ok 'not with --no-color' lacks "$out" $'\033'
NO_COLOR=1 talk "$REDLOCK" run --no-such-option a true THEN
ok 'nor with NO_COLOR' lacks "$out" $'\033'
exits 'nor off a terminal' 64 run --no-such-option a true
ok 'indeed' lacks "$err" $'\033'

# ---- CMD has the terminal
# (dash may miss an INT or a TSTP that comes while it starts a command, so no sh -c 'echo ready; sleep' here.)
shell "!$REDLOCK run a -- sh -c 'read x; echo got-\$x'\n" '!hello\n' '?got-hello' '!exit\n'
is 'CMD can read from the terminal' "$code" 0
shell "!echo piped | $REDLOCK run a -- sh -c 'cat; read x </dev/tty; echo got-\$x'\n" '?piped' '!hello\n' '?got-hello' '!exit\n'
is 'also in a pipeline, once it asks for it' "$code" 0
shell "!$REDLOCK run a -- sed -u s/^/got-/; echo code-\$?\n" '!hello\n' '?got-hello' '!\x03' '?code-130' '!exit\n'
is 'Ctrl-C goes to CMD' "$code" 0
shell "!$REDLOCK run a -- bash -c 'trap \"echo hea\"\"rd\" INT; echo rea''dy; read x; echo got-\$x'\n" '?ready' '!\x03' '?heard' \
    '!on\n' '?got-on' '!exit\n'
is 'and only CMD: it may go on' "$code" 0
shell "!$REDLOCK run a -- bash -c 'echo rea''dy; exec sleep 60' | cat; echo code-\${PIPESTATUS[0]}\n" '?ready' '!\x03' '?$ ' '!exit\n'
is 'in a pipeline it is forwarded' "$code" 0

# ---- Ctrl-Z
shell "!$REDLOCK run a -- sh -c 'echo rea''dy; read x; echo got-\$x'\n" '?ready' '!\x1a' '?Stopped' '!jobs\n' '?Stopped' \
    '!fg\n' '!hello\n' '?got-hello' '!exit\n'
is 'Ctrl-Z stops redlock with CMD, and fg goes on with both' "$code" 0
shell "!$REDLOCK run --ttl 3s a -- sed -u s/^/got-/\n" '!hello\n' '?got-hello' '!\x1a' '?Stopped' \
    "&sleep 3.5" '!fg; echo end-$?\n' '?is lost' '?end-79' '!exit\n'
is 'one that stays stopped for too long has lost its lock' "$code" 0
shell "!$REDLOCK run a -- bash -c 'echo rea''dy; exec sleep 60' | cat\n" '?ready' '!\x1a' '?Stopped' '!kill %1; fg\n' '?$ ' '!exit\n'
is 'Ctrl-Z in a pipeline stops all of it' "$code" 0
is 'nothing is held in the end' "$(copies a)" 0

done_testing

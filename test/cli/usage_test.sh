#!/usr/bin/env bash
# The words after redlock: help, versions, completion, and what is refused with which words. No node is needed.
. "$(dirname "$0")/lib.sh"

# Nothing here may reach a node; a run that gets that far is a failed check.
export REDLOCK_NODES=unix:///nowhere/redlock-test.sock

exits 'no command is wrong usage' 64
says 'and an example is given' 'redlock run NAME -- CMD'
exits 'an unknown command is wrong usage' 64 rum
says 'a near misspelling is understood' 'did you mean run?'
exits 'a far one too' 64 xyzzy
ok 'without a guess' lacks "$err" 'did you mean'
for word in int innit initt ini; do
    exits "init is not what $word may have meant" 64 "$word"
    ok 'for that is not to be said by mistake' lacks "$err" 'init?'
done
exits 'a name in place of a command is wrong usage' 64 nightly ./backup.sh
says 'and run is what was meant' 'redlock run nightly -- ./backup.sh'
exits 'options come after the command' 64 --nodes x status

# ---- flock(1)'s habits
for name in test cron job hot wit; do
    exits "the name $name may be near a command, but CMD follows" 64 "$name" ./backup.sh
    case $name in
        wit) says 'unless a single letter is wrong' 'did you mean wait?' ;;
        *) says 'so run was meant' "redlock run $name -- ./backup.sh" ;;
    esac
    ok 'never init' lacks "$err" 'init'
done
exits 'a name and -- CMD' 64 nightly -- ./backup.sh --all 'two words'
says 'are understood, quotes and all' "redlock run nightly -- ./backup.sh --all 'two words'"
for word in lock flock exec hold; do
    exits "$word is no command" 64 "$word" nightly ./backup.sh
    says 'but run is' 'did you mean run?'
done
exits 'nor is unlock' 64 unlock nightly
says 'but release is' 'did you mean release?'
exits 'options in front, as flock has them' 64 -n nightly ./backup.sh
says 'belong behind run' 'redlock run -n nightly ./backup.sh'
exits 'long ones too' 64 --timeout=5 nightly ./backup.sh
says 'with their values' 'redlock run --timeout=5 nightly ./backup.sh'
exits '--nb is --nonblock' 64 run --nb -w 5 a -- true
says 'so it excludes --wait' '-n and -w exclude each other'
exits '--timeout is --wait' 69 run -q --timeout 0 a -- true
exits 'for acquire too' 69 acquire -q --timeout 0 --ttl 5s a
exits '--command is -c' 64 run a --command true -- true
says 'so it excludes CMD' '-c and CMD exclude each other'
exits '-x and -e mean what is the case anyway' 69 run -q -n -x -e --exclusive a -- true

exits 'help succeeds' 0 help
for command in run acquire extend release status init local completion version; do
    ok "help lists $command" matches "$out" "(^|
)  $command( |
|$)"
done
mapfile -t commands < <("$REDLOCK" help | sed -nE 's/^  ([a-z]+)( .*)?$/\1/p')
for command in '' "${commands[@]}"; do
    try help ${command:+"$command"}
    is "help $command fits on 80 columns" "$(awk 'length > 80' <<<"$out")" ''
done
exits '--help succeeds' 0 --help
exits 'help of one command succeeds' 0 help run
for option in --nonblock --wait --conflict-exit-code --skip-ok --ttl --renew --grace --on-lost --min-hold --max-time \
    --kind --who --why --foreground --pass-credentials --status-fd --quiet --verbose --json --no-color --nodes --config; do
    ok "help run explains $option" has "$out" "$option"
done
ok 'help run offers the kinds there are' has "$out" '--kind exclusive|fair'
ok 'and what else a lock may be' matches "$out" '--slots K.*--also NAME.*--reentrant|--also NAME.*--reentrant.*--slots K'
for number in 64 69 70 71 75 77 78 79 124 126 127 129 130 131 143; do
    ok "help run explains the exit code $number" matches "$out" "[ ,;]${number}[ ,]"
done
exits 'run --help is the same' 0 run --help
ok 'to the letter' has "$out" '--conflict-exit-code'
exits 'help of an unknown command is wrong usage' 64 help rum
exits 'version succeeds' 0 version
ok 'and names itself' matches "$out" '^redlock [0-9]+\.[0-9]+\.[0-9]+'
exits '--version too' 0 --version

# ---- options
exits 'run needs a name' 64 run
says 'and says so' 'NAME'
exits 'run needs a CMD' 64 run a
says 'and shows how' 'redlock run a -- CMD'
exits 'a name may not be empty' 64 run '' -- true
exits 'an unknown option is refused' 64 run --tll 5 a -- true
says 'with the one that was meant' 'did you mean --ttl?'
exits 'an unknown letter is refused' 64 run -z a -- true
exits 'an option of another command is refused' 64 status --grace 5s
exits 'an option without its value is refused' 64 run a --ttl
says 'by name' '--ttl needs a value'
for option in --config --ttl --why -w -c; do
    exits "-- is no value of $option" 64 run a "$option" -- true
    says 'which is said' "$option needs a value, and -- is none"
done
exits 'a single node that is down' 69 run -n a -- true
says 'is spoken of as one' '0 of 1 node answered, 1 is needed'
exits 'unless it is attached' 69 run -qn a --why=-- -- true
exits 'a flag with a value is refused' 64 run --foreground=yes a -- true
exits 'an exit code above 255 is refused' 64 run -E 256 a -- true
says 'in words' '0 to 255'
exits 'an exit code that is none is refused' 64 run -E -1 a -- true
exits '--on-lost takes one of three' 64 run --on-lost shrug a -- true
exits '-n and -w exclude each other' 64 run -n -w 5 a -- true
exits '-c and CMD exclude each other' 64 run a -c true -- true
exits 'a word too many is refused' 64 status a b
exits '--status-fd has to be open' 64 run --status-fd 99 a -- true
says 'and is named' '--status-fd 99'
exits '--status-fd has to be writable' 64 run --status-fd 0 a -- true
for kind in read write semaphore:3 '' Fair; do
    exits "the kind \"$kind\" is refused" 64 run --kind "$kind" a -- true
    says 'with those there are' "--kind \"$kind\" is not one of exclusive|fair"
done
exits '-s likewise' 64 run --plain -s a -- true
says 'on plain nodes' 'shared locks in Redisson'\''s format only'
for command in 'run a -- true' 'acquire a --ttl 5s'; do
    # shellcheck disable=SC2086 # several words
    exits "a fair lock needs the guarded mode: ${command%% *}" 64 ${command%% *} --plain --kind fair ${command#* }
    says 'for a reason' '--kind fair: plain nodes keep no queue of waiters'
    says 'and with a remedy' 'leave out --kind fair, or --plain'
done
printf 'mode = plain\n' >"$work/plain.conf"
exits 'in a plain configuration too' 64 run --config "$work/plain.conf" --kind fair a -- true
says 'with another remedy' 'leave out --kind fair, or mode = plain in the configuration'
exits 'the same name twice' 64 run --also b --also b a -- true
says 'is named' '--also b: the name is given twice'
exits 'and beside itself' 64 acquire --ttl 5s --also a a
many=$(printf ' --also n%s' {1..99})
# shellcheck disable=SC2086
exits 'a hundred names' 64 run $many a -- true
says 'are too many' 'at most 16 names'
exits 'several names on plain nodes' 64 run --plain --also b a -- true
says 'are refused with a remedy' 'leave out --plain'
exits 'an empty one' 64 run --also '' a -- true
exits 'shared ones' 64 run --format redisson --shared --also b a -- true
exits 'acquire needs --ttl' 64 acquire a
exits 'extend needs an owner' 64 extend a
exits 'release needs an owner' 64 release a
says 'and says where from' 'REDLOCK_OWNER'
exits 'a name that is too long is refused' 64 run "$(printf 'x%.0s' {1..1025})" -- true
for name in redlock-guard:x redlock-fence:a redlock-line:a redlock-mark:a; do
    for command in status 'run -n' 'acquire -n --ttl 5s' 'release --owner-token x' 'extend --owner-token x'; do
        # shellcheck disable=SC2046,SC2086 # several words, or none
        exits "a reserved name is refused by ${command%% *}" 64 $command "$name" $([ "$command" != "run -n" ] || echo true)
        says 'and it says so' "names that begin with ${name%:*}: are reserved"
    done
done
exits 'a prefix may make a name a reserved one' 64 status --prefix redlock- guard:x
says 'which is said' 'redlock-guard:x: names that begin with redlock-guard: are reserved'
exits 'or keep it from being one' 69 run -qn --prefix my: redlock-guard:x -- true

# ---- durations
for duration in '' x 5x -1 1.2.3 5mss ' 5' '5 s' 0x10 1e3 99999999999999999999 9999999999h 1.2345s inf; do
    exits "the duration \"$duration\" is refused" 64 run -w "$duration" a -- true
    says 'and the option named' '-w'
done
exits 'a TTL of zero is refused' 64 run --ttl 0 a -- true
says 'with the least one' '50ms'
exits 'a TTL of months is refused' 64 run --ttl 2000h a -- true
says 'with the longest one' '24h'
exits 'a renewal slower than the lease is refused' 64 run --ttl 1s --renew 1s a -- true
exits 'one that comes when the validity is over too' 64 run --ttl 2s --renew 1999ms a -- true
says 'with the reason' '--renew is too close to the TTL'
exits 'a --max-time of nothing is refused' 64 run --max-time 0 a -- true

# Good ones get as far as the nodes, of which there are none.
for duration in 0 1ms 0.001 0.2s; do
    exits "the duration \"$duration\" is understood" 69 run -q -w "$duration" a -- true
done
exits 'options may come before NAME' 69 run -q -n a -- true
exits 'and after it' 69 run a -q -n -- true
exits 'and bundled' 69 run -qn a true
exits 'a letter may have its value attached' 69 run -q -w0 a true
exits 'and a long one behind =' 69 run -q --wait=0 a true
exits 'options of CMD are CMD'\''s' 69 run -q -n a ls --no-such-option
exits 'with --json wrong usage is JSON' 64 run --json --tll 5 a true
ok 'with its exit code' has "$err" '"exit_code":64'

# ---- completion
for shell in bash zsh fish; do
    exits "completion for $shell is printed" 0 completion $shell
    ok 'it knows --conflict-exit-code' has "$out" 'conflict-exit-code'
    ok 'it knows init' matches "$out" "[ ']init[ :)]"
done
exits 'completion for another shell is wrong usage' 64 completion tcsh
# complete WORD...: what bash would offer for the last word.
complete_words() {
    bash -c 'source <("$REDLOCK" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _redlock; echo "${COMPREPLY[*]}"' \
        _ "$@"
}
export REDLOCK
is 'bash completes commands' "$(complete_words redlock re)" 'release'
is 'also init' "$(complete_words redlock in)" 'init'
is 'with its options' "$(complete_words redlock init --y)" '--yes'
is 'bash completes options' "$(complete_words redlock run --sk)" '--skip-ok'
is 'bash completes values' "$(complete_words redlock run --on-lost k)" 'kill'
is 'also kinds' "$(complete_words redlock acquire --kind f)" 'fair'
mkdir "$work/files"
touch "$work/files/backup.sh" "$work/files/-odd"
complete_in_files() { (cd "$work/files" && complete_words "$@"); }
is 'files behind CMD' "$(complete_in_files redlock run nightly rsync ba)" 'backup.sh'
is 'also behind options and --' "$(complete_in_files redlock run -w 5s --ttl 10s nightly -- rsync -a ba)" 'backup.sh'
is 'and for what looks like an option of ours, but is one of CMD' "$(complete_in_files redlock run nightly rsync -o)" '-odd'
ok 'commands as CMD' has " $(complete_in_files redlock run nightly rm) " ' rm '
is 'bash completes the words of local' "$(complete_words redlock local sta)" 'start status'

done_testing

# Shared by the tests with other people's lock libraries: installing one, talking to its driver, what the nodes saw of a
# lock, and the checks that are the same for all of them. A driver reads acquire NAME, extend or release, one in a line,
# and answers each with held, refused, extended, released or what went wrong.
# shellcheck shell=bash
own_home=$HOME # where pip and npm find how to reach their registries; the tests have a home of their own
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

: "${PEERS:?is the folder for other libraries, the one that make bench-peers fills}"
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# ---- the other library ----------------------------------------------------------------------------------------

# install_peer NAME LANGUAGE: makes sure that it is there, installed as for the benchmarks, and says in a skipped test why
# it is not.
install_peer() {
    local folder=$PEERS/$1 command=("$source_folder/bench/peers/peer" install "$1" "$PEERS/$1")
    mkdir -p "$folder"
    "$source_folder/tools/setup" "$2" 2>"$work/setup.log" || { skip "$1" "it needs $2" "$work/setup.log"; return 1; }
    [ ! -e "$folder/installed" ] || return 0
    HOME=$own_home "${command[@]}" </dev/null >"$folder/install.log" 2>&1 && return 0
    echo "try: ${command[*]}" >>"$folder/install.log"
    skip "$1" 'it cannot be installed here' "$folder/install.log"
    return 1
}

# skip NAME WHY LOG
skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
    tail -n 5 "$3" | sed 's/^/# /'
}

# start_peer COMMAND...: starts its driver; the sockets of the nodes are added.
start_peer() {
    coproc peer { exec "$@" "$work"/n{1,2,3,4,5}.sock 2>"$work/peer.log"; }
    peer_pid=$!
    started_pids+=("$peer_pid")
}

# tell COMMAND [NAME]: $answer is what the driver makes of it.
tell() {
    answer='no answer'
    echo "$*" >&"${peer[1]}" && read -r -t 60 answer <&"${peer[0]}"
}

stop_peer() {
    kill "$peer_pid"
    wait "$peer_pid" 2>/dev/null
}

# does NAME ANSWER COMMAND [NAME]
does() {
    local name=$1 expected=$2
    shift 2
    tell "$@"
    is "$name" "$answer" "$expected" || sed 's/^/# /' "$work/peer.log"
}

# ---- what the nodes saw ---------------------------------------------------------------------------------------

monitor_nodes() {
    local number
    for number in 1 2 3 4 5; do
        redis-cli -s "$work/n$number.sock" MONITOR >"$work/n$number.seen" &
        started_pids+=("$!")
        until_true has_content "$work/n$number.seen"
    done
}

# seen NUMBER NAME: what happened to a lock at a node, in words: we ask for it, we watch it, they write it, it is freed.
# A waiter that looks again after seconds, because it trusts nobody, watches once more: that is not told.
seen() {
    sed -nE "/\"CLIENT\" \"CACHING\" \"YES\"/{n;s/.*\"PTTL\" \"$2\".*/watch/p;d}
        s/.*\"SET\" \"$2\" \"[^\"]*\\|host=.*/ask/p;t
        s/.*\"(set|pexpire)\" \"$2\".*/theirs/Ip
        s/.*\"del\" \"$2\".*/free/Ip" "$work/n$1.seen" |
        awk '!($0 == "watch" && last == "watch") { print } { last = $0 }' | paste -sd' '
}

# watched_after NAME TIMES: all nodes were written that often by them, and were then asked to tell of the next change.
watched_after() {
    local number words
    for number in 1 2 3 4 5; do
        words=$(seen "$number" "$1")
        [ "$(grep -o theirs <<<"$words" | wc -l)" = "$2" ] && [[ $words == *watch ]] || return 1
    done
}

# asked_when_free NAME: a quorum of nodes was asked for it once (not even that, if slow to connect), to tell, and then not again
# before they had let go.
asked_when_free() {
    local number count=0
    for number in 1 2 3 4 5; do
        [[ ! $(seen "$number" "$1") =~ ^'theirs'(' ask')?' watch free ask' ]] || count=$((count + 1))
    done
    [ "$count" -ge 3 ]
}

# story NAME: all of it and what our waiter said, for who wonders why a test fails.
story() {
    local number
    for number in 1 2 3 4 5; do
        echo "# node $number saw: $(seen "$number" "$1")"
    done
    sed 's/^/# /' "$work/err"
}

# ---- what the waiter heard ------------------------------------------------------------------------------------

# mark: heard is about what comes from here on.
mark() {
    marked=$(wc -l <"$work/err")
}

heard() {
    tail -n "+$((marked + 1))" "$work/err" | grep -cE "$1"
}

# knows_it_is_held: the last it heard of every node.
knows_it_is_held() {
    local number
    for number in 1 2 3 4 5; do
        grep "\] node $number " "$work/err" | tail -n 1 | grep -q '> held' || return 1
    done
}

# ---- the checks -----------------------------------------------------------------------------------------------

# They all get NAME, a lock of their own, and what else redlock is to be told, such as --plain.

their_lock_is_respected() {
    local name=$1 owner
    shift
    does "$name: they take it" held acquire "$name"
    owner=$(node 1 GET "$name")
    exits "$name: we are refused" 75 run -n "$@" "$name" -- true
    says "$name: its owner value tells us nothing" "holder  unknown (the owner value tells nothing), id ${owner:0:8}"
    try status "$@" "$name"
    ok "$name: status shows it with an owner that is not ours" matches "$code/$out" "^0/$name is held by ${owner:0:8}"$'\n'
    ok "$name: on all nodes" has "$out" 'granted by 5 of 5'
    does "$name: they find it as they left it" released release
}

their_release_wakes_us() {
    local name=$1
    shift
    does "$name: they take it" held acquire "$name"
    start run -v "$@" --status-fd 3 "$name" -- echo ran
    ok "$name: a waiter of ours asks once, and to be told" until_true watched_after "$name" 1
    mark
    does "$name: they let go" released release
    finish
    is "$name: that lets it in" "$code/$out" 0/ran
    ok "$name: a quorum told it" test "$(heard '> changed$')" -ge 3
    is "$name: it did not look by itself" "$(heard 'look again')" 0
    is "$name: it asked once more" "$(heard 'round .* > ask')" 1
    ok "$name: and no node was asked before it was free there" until_true asked_when_free "$name" || story "$name"
}

their_extension_is_seen() {
    local name=$1 owner
    shift
    does "$name: they take it" held acquire "$name"
    owner=$(node 1 GET "$name")
    start run -v "$@" --status-fd 3 "$name" -- echo ran
    until_true watched_after "$name" 1
    mark
    does "$name: they extend it" extended extend
    ok "$name: all nodes are asked to tell our waiter of the next change" until_true watched_after "$name" 2 || story "$name"
    ok "$name: it knows that it is still held" until_true knows_it_is_held || story "$name"
    ok "$name: for a quorum told it" test "$(heard '> changed$')" -ge 3 || story "$name"
    mark
    does "$name: they extend it again" extended extend
    ok "$name: all nodes are asked again" until_true watched_after "$name" 3 || story "$name"
    ok "$name: it still knows that it is held" until_true knows_it_is_held || story "$name"
    ok "$name: for a quorum told it again" test "$(heard '> changed$')" -ge 3 || story "$name"
    is "$name: it looked, and did not ask, for they are known to extend" "$(heard 'round .* > ask')" 0
    ok "$name: it has not got it" lacks "$(events)" acquired
    is "$name: it is theirs" "$(node 1 GET "$name")" "$owner"
    does "$name: they let go" released release
    finish
    is "$name: now it has it" "$code/$out" 0/ran
}

our_lock_is_respected() {
    local name=$1 owner
    shift
    start run "$@" --status-fd 3 "$name" -- sleep 600
    until_true is_held "$name"
    spread "$name"
    owner=$(node 1 GET "$name")
    does "$name: they are refused" refused acquire "$name"
    is "$name: and leave it alone" "$(copies "$name")/$(node 1 GET "$name")" "5/$owner"
    kill -TERM "$started"
    finish
    ok "$name: it is free when we let go" until_true copies_are "$name" 0
    does "$name: and theirs" held acquire "$name"
    does "$name: they let go" released release
}

# shares_locks LABEL: everything, in both modes.
shares_locks() {
    local label=$1 mode
    for mode in plain guarded; do
        set --
        [ "$mode" = guarded ] || set -- --plain
        their_lock_is_respected "$label:$mode:theirs" "$@"
        their_release_wakes_us "$label:$mode:released" "$@"
        their_extension_is_seen "$label:$mode:extended" "$@"
        our_lock_is_respected "$label:$mode:ours" "$@"
    done
}

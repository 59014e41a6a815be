# Shared by the tests of redlock doctor: what it found, its remedy typed as a person would, and whether that mended it.
# It asserts nothing by itself, and comes after lib.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2317 # variables and functions of those that read this

# examine: runs doctor for programs and keeps what it found.
examine() { examine_with -q; }
# examine_with OPTION...: the same, with options.
examine_with() {
    try doctor --json "$@"
    printf '%s' "$out" >"$work/found.json"
}
# found ID [NODE]: the fix of such a finding; fails when there is none.
found() {
    python3 - "$work/found.json" "$1" "${2:-}" <<'END'
import json, sys
path, name, node = sys.argv[1:]
for one in json.load(open(path))["findings"]:
    if one["id"] == name and (not node or str(one.get("node")) == node):
        assert one["what"] and one["why"] and one["fix"] and one["where"] and one["weight"] in ("error", "warning", "note")
        print(one["fix"])
        sys.exit(0)
sys.exit(1)
END
}
lacks_finding() { ! found "$@" >/dev/null; }
# finds NAME ID [NODE]: the last doctor has this finding; its remedy is in $fix.
finds() {
    fix=$(found "${@:2}")
    ok "$1" test -n "$fix"
}
# type_it: does what the last remedy says, as a person would.
type_it() { PATH=$(dirname "$REDLOCK"):$PATH bash -c "$fix" >"$work/typed" 2>&1 </dev/null; }
# rewrite: does what a remedy says that begins with "write X in place of Y", or "write Y?durable=yes", to the nodes.
rewrite() {
    local url=${fix#*write }
    url=${url%%[ ,]*}
    case $fix in
    *' in place of '*) REDLOCK_NODES=${REDLOCK_NODES/"$(sed -E 's/.* in place of ([^ ;]+).*/\1/' <<<"$fix")"/"$url"} ;;
    *) REDLOCK_NODES=${REDLOCK_NODES/"${url%[?&]durable=yes}"/"$url"} ;;
    esac
}
# mended NAME ID [NODE]: after a new look the finding is gone.
mended() {
    examine
    ok "$1" lacks_finding "${@:2}" || sed 's/^/# /' "$work/typed"
}
fresh_nodes() {
    local number
    for number in "${!node_pids[@]}"; do
        kill -CONT "${node_pids[number]}" 2>/dev/null
        kill_nodes "$number"
    done
    rm -f "$work"/n*.sock
    start_nodes
}

# set_clock FOLDER OFFSET_US PPM: what the program with that folder sees from now on; see test/shim/clock_shim.h.
set_clock() {
    python3 - "$1/clock" "${@:2}" <<'END'
import struct, sys, time
path, offset, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, "r+b") as shim:
    sequence = struct.unpack("=I", shim.read(4))[0]
    for step, values in ((1, None), (2, (offset, rate, int(time.time() * 1000000)))):
        if values:
            shim.seek(8)
            shim.write(struct.pack("=qqq", *values))
            shim.flush()
        shim.seek(0)
        shim.write(struct.pack("=I", sequence + step))
        shim.flush()
END
}

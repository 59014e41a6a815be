#!/usr/bin/env python3
"""The part of make interop that runs in make test: the suite sees planted incompatibilities, and a few real libraries and servers
work as far as they can be had; what cannot is skipped. It prints TAP."""

import os
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from suite import peers, servers, sharing, trials  # noqa: E402
from suite.checks import Unavailable  # noqa: E402

BUILD = pathlib.Path(os.environ["BUILD"])
REDLOCK = os.environ["REDLOCK"]
OLDER, NEWER = "redis-6.2", "valkey-9.1"  # than the one that is installed; both are small to fetch
LIBRARIES = ["redis-py", "node-redlock-5"]
PLANTED = {  # fault of the recipe: what must be seen, and what must not; every behaviour is among the former
    "careless": ([sharing.their_late_release_leaves_ours_alone], [sharing.we_are_refused_while_they_hold_it]),
    "prefixed": ([sharing.we_are_refused_while_they_hold_it, sharing.they_are_refused_while_we_hold_it,
                  sharing.they_get_it_after_our_release, sharing.they_get_it_when_our_holder_died,
                  sharing.our_late_release_leaves_theirs_alone], []),
    "eager": ([sharing.they_are_refused_while_we_hold_it], [sharing.we_are_refused_while_they_hold_it]),
    "hasty": ([sharing.eight_and_eight_processes_lose_no_increment], []),
    "endless": ([sharing.we_get_it_when_their_holder_died], [sharing.they_are_refused_while_we_hold_it]),
    "pretending": ([sharing.their_release_wakes_our_waiter], [sharing.they_are_refused_while_we_hold_it]),
    "deafening": ([sharing.their_release_wakes_our_waiter], []),
    "lapsing": ([sharing.their_extension_keeps_our_waiter_out], [sharing.their_release_wakes_our_waiter]),
    "single": ([sharing.each_of_several_names_excludes_us], [sharing.we_are_refused_while_they_hold_it]),
    "hash-uncounted": ([sharing.a_second_entry_of_theirs_counts, sharing.readers_of_both_sides_share_it],
                       [sharing.our_release_wakes_their_waiter]),
    "hash-deaf": ([sharing.our_release_wakes_their_waiter], [sharing.a_second_entry_of_theirs_counts]),
    "hash-absent": ([sharing.our_readers_and_their_writer_exclude_each_other], []),
}
results = []


def tell(name, passed, comments=()):
    results.append(passed)
    print(f"{'ok' if passed else 'not ok'} {len(results)} - {name}", *(f"# {line}" for line in comments), sep="\n", flush=True)


def skip(name, why):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {why}", flush=True)


def quietly(*_):
    """The cells are told when the row is there."""


def tell_row(label, row):
    if "skipped" in row:
        skip(label, row["skipped"])
        return
    for mode, cells in row["modes"].items():
        for name, cell in cells.items():
            if cell["outcome"] != "none":
                tell(f"{label}, {mode}: {name.replace('_', ' ')}", cell["outcome"] == "yes", [cell["why"]] if cell["why"] else [])


def check_planted(server, folder):
    judged = {function for wrong, _ in PLANTED.values() for function in wrong}
    missing = {function for column in sharing.COLUMNS.values() for function in column} - judged
    tell("every behaviour has a planted fault that it has to see", not missing, sorted(function.__name__ for function in missing))
    for fault, (wrong, right) in PLANTED.items():
        row = trials.share(peers.recipe(fault), server, REDLOCK, folder, quietly, wrong + right, has_all=True)
        for mode, cells in row.get("modes", {"none": {}}).items():
            for function, outcome in [(each, "no") for each in wrong] + [(each, "yes") for each in right]:
                cell = cells.get(function.__name__, {"outcome": "", "why": row.get("skipped", "")})
                tell(f"a peer that is {fault}, {mode}: {function.__name__} is answered with {outcome}", cell["outcome"] == outcome,
                     [cell["why"]] if cell["why"] else [])


def check_server(name):
    try:
        here = servers.fetch(servers.chosen(name)[0], BUILD / "servers")
    except Unavailable as why:
        skip(name, why)
        return
    tell_row(here.version, trials.serve(name, [here], REDLOCK, quietly))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended on the way out
    server = servers.installed()
    missing = trials.SELECTION - trials.all_tests(BUILD).keys()
    tell("the tests that make interop selects for each server are there", not missing, sorted(missing))
    with tempfile.TemporaryDirectory(prefix="redlock-interop.") as folder:
        folder = pathlib.Path(folder)
        check_planted(server, folder)
        for kind in ("-", "hash"):
            tell_row(f"the recipe by hand, {kind}", trials.share(peers.recipe(kind), server, REDLOCK, folder, quietly))
    for name in LIBRARIES:
        tell_row(name, trials.share(peers.chosen(name)[0], server, REDLOCK, BUILD / "peers", quietly))
    for name in (OLDER, NEWER):
        check_server(name)
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()

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
PLANTED = {  # kind of the recipe: what must be seen, and what must not
    "careless": ([sharing.their_late_release_leaves_ours_alone], [sharing.we_are_refused_while_they_hold_it]),
    "prefixed": ([sharing.we_are_refused_while_they_hold_it, sharing.they_are_refused_while_we_hold_it], []),
    "eager": ([sharing.they_are_refused_while_we_hold_it], [sharing.we_are_refused_while_they_hold_it]),
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
    for kind, (wrong, right) in PLANTED.items():
        peer = peers.Peer("recipe", f"a peer that is {kind}", "-", kind)
        row = trials.share(peer, server, REDLOCK, folder, quietly, wrong + right)
        for mode, cells in row.get("modes", {"none": {}}).items():
            for function, outcome in [(each, "no") for each in wrong] + [(each, "yes") for each in right]:
                cell = cells.get(function.__name__, {"outcome": "", "why": row.get("skipped", "")})
                tell(f"a {kind} peer, {mode}: {function.__name__} is answered with {outcome}", cell["outcome"] == outcome, [cell["why"]])


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
        tell_row("the recipe by hand", trials.share(peers.RECIPE, server, REDLOCK, folder, quietly))
    for name in LIBRARIES:
        tell_row(name, trials.share(peers.chosen(name)[0], server, REDLOCK, BUILD / "peers", quietly))
    for name in (OLDER, NEWER):
        check_server(name)
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()

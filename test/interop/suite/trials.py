"""Runs the behaviours of a peer or of a server and makes a row of each for the report: what came of it, by mode and behaviour."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from suite import peers, servers, serving, sharing
from suite.checks import Failed, Unavailable
from suite.command import Redlock
from suite.nodes import Fleet

TESTS_S = 1800
NEED_TLS = {"integration/tls", "integration/tls_guarded", "integration/idle", "integration/idle_guarded",
            "integration/wrong_server", "cli/config"}


# What depends on the server: its scripts, notifications, rights and words. All of them run when one server is named; with all servers after each
# other that would take an hour.
SELECTION = {
    *(f"integration/{name}" for name in (
        "barrier", "counter_guarded", "examine_guarded", "exclusion", "exclusion_guarded", "fair", "follow_guarded", "guard", "hand_on_scripts",
        "init", "inspect_guarded", "listing", "listing_guarded", "many", "many_scripts", "model_node", "model_tracking", "queue",
        "redisson", "scripts", "tls", "unusable_node", "update", "waiting", "waiting_guarded", "waiting_scripts")),
    *(f"cli/{name}" for name in (
        "acl", "barrier", "doctor", "elect", "exit_codes", "fair", "findings", "guard", "legacy", "once", "owners", "redisson", "remedies",
        "scripting", "status", "update", "waiting")),
}


def attempt(function, stage):
    """One cell: what came of it, why, and in how many seconds."""
    began = time.monotonic()
    cell = outcome_of(function, stage)
    return cell | {"seconds": round(time.monotonic() - began, 1)}


def outcome_of(function, stage):
    try:
        took = function(stage)
        return {"outcome": "yes", "why": "", **({"took": took} if took else {})}
    except Failed as why:
        return {"outcome": "no", "why": str(why)}
    except Exception as why:  # an answer that is not as documented must not end the whole run
        return {"outcome": "no", "why": f"{type(why).__name__}: {why}"}


class Place:
    """A temporary folder with a fleet in it."""

    def __init__(self, used):
        self.folder = tempfile.mkdtemp(prefix="redlock-interop.")
        self.fleet = None
        try:
            self.fleet = Fleet(used, self.folder)
        except Failed:
            self.close()
            raise

    def new_folder(self, name):
        path = f"{self.folder}/{name}"
        os.makedirs(path)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.fleet:
            self.fleet.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- a peer ---------------------------------------------------------------------------------------------------

class Crew:
    """The drivers of one peer. They are kept from one behaviour to the next, since starting them is most of the work; the first of them is
    the one that a behaviour has to itself."""

    def __init__(self, peer, folder, addresses):
        self.peer, self.folder, self.addresses = peer, folder, addresses
        self.kept, self.extra = [], []

    def new_driver(self):
        return peers.Driver(self.peer, self.folder, self.addresses)

    def start(self):
        """One that a behaviour may kill."""
        self.extra.append(self.new_driver())
        return self.extra[-1]

    def crowd(self, count):
        while len(self.kept) < count:
            self.kept.append(self.new_driver())
        return self.kept[:count]

    def tidy(self, keep):
        """Ends what a behaviour started; and all, when they may be in the middle of something."""
        for driver in self.extra + ([] if keep else self.kept):
            driver.kill()
        self.extra = []
        self.kept = self.kept if keep else []


def fits(peer, function):
    """Whether the library has what a behaviour is about."""
    needs = {sharing.their_extension_keeps_our_waiter_out: peer.can_extend or peer.renews,
             sharing.each_of_several_names_excludes_us: peer.has_several,
             sharing.eight_and_eight_processes_lose_no_increment: peer.is_exclusive,
             sharing.our_release_wakes_their_waiter: peer.waits,
             sharing.a_second_entry_of_theirs_counts: peer.waits,
             sharing.readers_of_both_sides_share_it: peer.waits and not peer.is_exclusive,
             sharing.our_readers_and_their_writer_exclude_each_other: peer.waits and peer.is_exclusive}
    return needs.get(function, True)


def share_in_mode(peer, mode, place, program, crew, say, behaviours, has_all):
    cells = {}
    fleet = place.fleet.first(peer.nodes)
    for function in behaviours:
        name = function.__name__
        if not has_all and not fits(peer, function):
            cells[name] = {"outcome": "none", "why": "the library has no such thing"}
            continue
        label = f"{peer.name}.{mode}.{name}"
        folder = place.new_folder(label)
        redlock = Redlock(program, fleet, mode, folder, peer.prefix)
        stage = sharing.Stage(fleet, redlock, crew.crowd(1)[0], crew.start, crew.crowd, folder, label, f"{label}.other")
        cells[name] = attempt(function, stage)
        redlock.clean_up()
        crew.tidy(keep=cells[name]["outcome"] == "yes")
        say(f"{peer.name} {mode}", name, cells[name])
    return cells


def peer_traits(peer):
    return {"name": peer.name, "title": peer.title, "version": peer.version(), "nodes": peer.nodes, "prefix": peer.prefix}


def share(peer, server, program, folder, say, behaviours=None, has_all=False):
    """The row of a peer; of all behaviours that fit it, or of these, whether they do or not."""
    row = {**peer_traits(peer), "server": server.version}
    behaviours = behaviours or [function for column in sharing.COLUMNS.values() for function in column]
    began = time.monotonic()
    try:
        peers.install(peer, folder)
        row["installing"] = round(time.monotonic() - began, 1)
        with Place([server]) as place:
            Redlock(program, place.fleet, "guarded", place.folder).admit_nodes()
            crew = Crew(peer, folder, place.fleet.first(peer.nodes).addresses())
            try:
                row["modes"] = {mode: share_in_mode(peer, mode, place, program, crew, say, behaviours, has_all)
                                for mode in peer.modes}
            finally:
                crew.tidy(keep=False)
    except (Unavailable, Failed) as why:
        row["skipped"] = str(why)
        say(peer.name, "all of it", {"outcome": "skipped", "why": str(why)})
    return row


# ---- a server -------------------------------------------------------------------------------------------------

def serve_in_mode(name, mode, place, program, say):
    cells = {}
    for function, modes in serving.BEHAVIOURS.items():
        if mode not in modes:
            continue
        label = f"{mode}.{function.__name__}"
        folder = place.new_folder(label)
        redlock, plain = (Redlock(program, place.fleet, which, folder) for which in (mode, "plain"))
        cells[function.__name__] = attempt(function, serving.Stage(place.fleet, redlock, plain, folder, label))
        redlock.clean_up()
        say(f"{name} {mode}", function.__name__, cells[function.__name__])
    return cells


def serve(name, used, program, say):
    """The row of a server, or of several in one fleet."""
    row = {"name": name, "version": ", ".join(server.version for server in used)}
    try:
        with Place(used) as place:
            Redlock(program, place.fleet, "guarded", place.folder).admit_nodes()
            row["modes"] = {mode: serve_in_mode(name, mode, place, program, say) for mode in serving.MODES}
    except Failed as why:
        row["skipped"] = str(why)
        say(name, "all of it", {"outcome": "no", "why": str(why)})
    return row


def all_tests(build):
    """The suites of every test, by its name."""
    listed = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True).stdout
    return {test["name"]: {suite.split(":")[-1] for suite in test["suite"]} for test in json.loads(listed)}


def tests_for(server, build, want_all):
    """The names of the integration and cli tests that the server can run, without the slow ones: all, or the selection."""
    suites = all_tests(build)
    if unknown := SELECTION - suites.keys():
        raise Failed(f"the selection names tests that there are not: {', '.join(sorted(unknown))}")
    wanted = [name for name, suite in suites.items()
              if suite & {"integration", "cli"} and "slow" not in suite and (want_all or name in SELECTION)]
    return wanted if servers.has_tls(server) else [name for name in wanted if name not in NEED_TLS]


def skipped_cases(tests):
    """What the tests said that they could not try with it: test, case and reason."""
    found = []
    for test in tests:
        for line in test.get("stdout", "").splitlines():
            if skipped := re.match(r"ok \d+ (?:- )?(.*?) # SKIP ?(.*)", line):
                found.append(f"{test['name'].split(' / ')[-1]}: {skipped[1]}" + (f" ({skipped[2]})" if skipped[2] else ""))
    return found


def run_tests(server, build, want_all, say):
    """The integration and cli tests of this project with a server, or a selection: how many programs passed, and which did not."""
    what, label = "the integration and cli tests", f"interop-{server.name}"
    say(server.name, what, {"outcome": "", "why": ""})
    began = time.monotonic()
    log = build / "meson-logs" / f"{label}.json"
    log.unlink(missing_ok=True)
    names = tests_for(server, build, want_all)
    subprocess.run([peers.SOURCE / "tools" / "with-server", server.program, "meson", "test", "-C", build, "--no-rebuild",
                    "--logbase", label, "--num-processes", str(2 * os.cpu_count()), "--timeout-multiplier", "2", *names],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=TESTS_S)
    tests = [json.loads(line) for line in log.read_text().splitlines()]
    failed = [test["name"].split(" / ")[-1] for test in tests if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]
    say(server.name, what, {"outcome": "no" if failed else "yes", "why": ", ".join(failed)})
    return {"total": len(tests), "failed": failed, "skipped": skipped_cases(tests), "seconds": round(time.monotonic() - began, 1),
            "has_tls": servers.has_tls(server), "is_selection": not want_all}

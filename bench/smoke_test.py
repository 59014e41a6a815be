#!/usr/bin/env python3
"""Every benchmark program runs and prints figures that make sense, and every table can be made of them. Speaks TAP.
It measures nothing: a run is as short as it can be.

Usage: bench/smoke_test.py PROGRAMS-FOLDER
"""

import pathlib
import shutil
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True

from suite import cases, measure, nodes, plot, report, summary  # noqa: E402

SECONDS = 0.05
LONE = cases.LONE.but(fleet="tcp 3")
CONTEND = cases.contend(4, "threads", fleet="tcp 3")
RUNS = {
    "one caller": LONE,
    "callers in threads": LONE.but(clients=4),
    "asynchronous callers": cases.ASYNC.but(fleet="tcp 3"),
    "the bare loop": cases.raw(LONE),
    "the loop on hiredis": cases.hiredis(LONE),
    "contenders in threads": CONTEND,
    "contenders in processes": cases.contend(3, "processes", fleet="tcp 3"),
    "the bare hand-over": cases.handed_on(cases.contend(3, "processes", fleet="tcp 3")),
    "the fifo": cases.fifo(CONTEND),
    "callers for slots": cases.kind("slots", "threads", 6, width=2, fleet="tcp 3"),
    "processes that want slots": cases.kind("slots", "processes", 3, width=2, fleet="tcp 3"),
    "processes that want one of two locks": cases.kind("spread", "processes", 3, width=2, fleet="tcp 3"),
    "readers": cases.kind("readers", "threads", 4, fleet="tcp 3"),
    "callers with a lock each": cases.kind("own", "threads", 4, fleet="tcp 3"),
    "locks with several names": cases.kind("names", width=4, fleet="tcp 3"),
    "the naive contenders": cases.naive(CONTEND, 10),
}
count = 0


def measured(fleets, run, folder):
    """On a machine so busy that nodes fall silent a run may end early: it is given more chances."""
    for _ in range(4):
        try:
            return measure.measure(fleets, run, SECONDS, folder)
        except measure.Skipped as why:
            print(f"# {run.program} {run.workload}: {why}")
    return measure.measure(fleets, run, SECONDS, folder)


def check(name, passed):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}", flush=True)


def check_runs(fleets, folder):
    for name, run in RUNS.items():
        figures = measured(fleets, run, folder)
        check(f"{name} take locks and tell how long it took", figures["pairs"] > 0 and figures["acquire_p50_us"] > 0
              and figures["acquire_p50_us"] <= figures["acquire_p99_us"] <= figures["acquire_max_us"]
              and figures["least"] <= figures["most"])


def check_proxy(fleets, folder):
    figures = measured(fleets, cases.raw(LONE).but(fleet="1ms 3"), folder)
    check("a round trip through the proxy takes no less than it should", figures["acquire_p50_us"] >= 1000)


def check_late_clock(fleets, folder):
    run = cases.contend(2, "processes", fleet="tcp 3", oddity="behind")
    check("contenders with a late clock take locks", measured(fleets, run, folder)["pairs"] > 0)


def check_held(fleets, folder):
    figures = measured(fleets, cases.HELD.but(fleet="tcp 3", clients=20, seconds=SECONDS), folder)
    check("held locks have a size", figures["locks"] == 20 and figures["bytes_per_lock_beyond_name"] > 0)


def check_waiting(fleets, folder):
    run = cases.WAITING.but(fleet="tcp 3", clients=4, seconds=10 * SECONDS)
    check("waiters cost a node some commands", measured(fleets, run, folder)["node_commands_per_waiter"] > 0)


def check_again(fleets, folder):
    """On a machine that stops for seconds a renewal may come in between."""
    figures = measured(fleets, cases.ENTERED.but(fleet="tcp 3"), folder)
    check("a lock is entered again without asking nodes", figures["pairs"] > figures["measured_rounds"])


def check_gone(fleets, folder):
    for oddity in ("stopped", "killed"):
        run = cases.contend(3, "processes", fleet="tcp 3", mode="guarded", oddity=oddity)
        check(f"contenders beside one that is {oddity} take locks", measured(fleets, run, folder)["pairs"] > 0)


def check_default_ttl(fleets, folder):
    run = cases.contend(2, "processes", fleet="tcp 3", mode="guarded", ttl_ms=cases.DEFAULT_TTL_MS)
    for run in (run, cases.handed_on(run)):
        check(f"{run.program}: contenders for a long TTL take locks", measured(fleets, run, folder)["pairs"] > 0)


def check_tables(fleets, folder):
    rows = [cases.Row("limit", "1 caller", LONE, cases.raw(LONE), "bare loop"),
            cases.Row("itself", "1 caller", LONE.but(mode="guarded"), LONE, "plain"),
            cases.Row("contention", "4 threads", CONTEND, cases.fifo(CONTEND), "fifo")]
    results = {run: {0: measured(fleets, run, folder)} for row in rows for run in (row.subject, row.base)}
    about = {"cores": 1, "arch": "", "redis": "", "load": 0, "turns": 1, "seconds": SECONDS}
    document = summary.make_document(about, rows, cases.targets(), cases.PEER_TARGETS, results, {}, [])
    check("tables have their rows", "4 threads" in report.as_text(document) and "| 1 caller |" in report.as_markdown(document)
          and "agreed in one round" in report.as_text(document))
    check("the plot is XML", xml.etree.ElementTree.fromstring(plot.as_svg(document, "")).tag.endswith("svg"))


def main():
    folder = tempfile.mkdtemp(prefix="redlock-bench-")
    fleets = None
    checks = (check_runs, check_proxy, check_late_clock, check_held, check_waiting, check_again, check_gone, check_default_ttl, check_tables)
    print(f"1..{len(RUNS) + 11}")
    try:
        fleets = nodes.Fleets(pathlib.Path(sys.argv[1]), folder, nodes=3, spares=0)
        for each in checks:
            each(fleets, folder)
    finally:
        if fleets:
            fleets.stop()
        shutil.rmtree(folder, ignore_errors=True)


main()

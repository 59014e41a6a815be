"""Starts the programs, breaks what is to be broken, and brings their figures home. It decides nothing about what is
measured (cases.py) nor how it is shown (report.py)."""

import json
import os
import re
import signal
import statistics
import struct
import subprocess
import sys
import time

from suite import cases

NAME_BYTES = len("bench:00000000")
LATE_US = 50000


class Skipped(Exception):
    """This run cannot be made here; the words say why."""


def command(fleets, run, seconds, folder=None, number=0):
    """The number is that of the process, from 0. The folder is where the clock shim looks for its file, when it is preloaded: it takes the first argument's."""
    words = [str(fleets.programs / run.program), f"{folder}/{run.workload}" if folder else run.workload,
             "-m", run.mode, "-n", fleets.urls(run.fleet), "-c", str(run.clients), "-s", str(run.seconds or seconds * run.length)]
    if run.quick:
        words += ["-q"]
    if run.workload == "contend":
        words += ["-r", str(run.retry_ms), "-t", str(run.ttl_ms), *(["-a"] if run.renews else [])]
    if run.program == "kinds_bench":
        words += ["-t", str(run.ttl_ms), "-k", str(run.width or 1), "-i", str(number * run.clients)]
    return words + ["-l"] if run.processes > 1 else words


def late_clock(fleets, folder):
    """The environment of a process whose wall clock is late, and the folder to name: see test/shim."""
    shim = fleets.programs.parent / "test" / "clock_shim.so"
    if not shim.exists():
        raise Skipped("test/clock_shim.so was not built")
    with open(f"{folder}/clock", "wb") as file:
        file.write(struct.pack("I4xqqq", 0, -LATE_US, 0, 0))
    return os.environ | {"LD_PRELOAD": str(shim.resolve())}


def start(fleets, run, seconds, folder):
    processes = []
    for number in range(run.processes):
        late = run.oddity == "behind" and number == 0
        processes.append(subprocess.Popen(
            command(fleets, run, seconds, folder if late else None, number), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=late_clock(fleets, folder) if late else None))
    return processes


def end(processes):
    for process in processes:
        process.kill()
        process.communicate()


def collect(run, processes, seconds):
    """Lets them all go at once and returns what each printed."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    victim = processes[0] if run.oddity in ("killed", "stopped") else None
    if run.oddity == "killed":
        time.sleep(seconds * run.length / 2)
        victim.kill()
    if run.oddity == "stopped":
        time.sleep(seconds * run.length / 4)
        victim.send_signal(signal.SIGSTOP)
    lines = []
    for process in processes[1:] if victim else processes:
        output, errors = process.communicate(timeout=120)
        if process.returncode != 0:
            raise Skipped(f"it failed: {errors.strip().removeprefix('bench: ')}")
        lines.append(json.loads(output.strip().splitlines()[-1]))
    return lines


def combine(lines):
    """The figures of several processes as those of one; waits that were cut off by the end count as long as they were."""
    waits = sorted(wait for line in lines for wait in line["waits_us"])
    counts = [count for line in lines for count in line["counts"]]
    pairs, seconds = sum(counts), max(line["seconds"] for line in lines)
    return {"pairs": pairs, "pairs_per_s": pairs / seconds, "least": min(counts), "most": max(counts),
            "cpu_us_per_pair": sum(line["cpu_s"] for line in lines) * 1e6 / max(pairs, 1),
            "acquire_p50_us": waits[len(waits) // 2], "acquire_p99_us": waits[int(0.99 * (len(waits) - 1))],
            "acquire_max_us": waits[-1],
            **({"measured_rounds": sum(line["measured_rounds"] for line in lines)} if "measured_rounds" in lines[0] else {})}


def derive(figures):
    """Figures that are made of others."""
    if "most" in figures:
        figures["least_of_most"] = figures["least"] / max(figures["most"], 1)
    if "measured_rounds" in figures:
        figures["rounds_per_pair"] = figures["measured_rounds"] / max(figures["pairs"], 1)
    if "bytes_per_lock" in figures:
        figures["bytes_per_lock_beyond_name"] = figures["bytes_per_lock"] - NAME_BYTES
        figures["client_kib"] = figures["client_bytes"] / 1024
    return figures


def measure(fleets, run, seconds, folder):
    """Makes one run and returns its figures."""
    if run.mode == "guarded":
        fleets.settle(run.fleet)
    nodes = fleets.of(run.fleet)
    processes = start(fleets, run, seconds, folder)
    broken = False
    try:
        for process in processes:
            if process.stdout.readline() != "ready\n":
                raise Skipped(process.stderr.read().strip().removeprefix("bench: ") or f"{run.program} did not start")
        if run.fault:
            broken = True
            fleets.break_nodes(run.fleet, run.fault)
        nodes_s = 0 if run.fault else reset_statistics(nodes)
        lines = collect(run, processes, seconds)
    except Skipped:
        end(processes)
        remove_locks(nodes)  # what those had who were ended
        raise
    finally:
        end(processes)
        if broken:
            fleets.repair_nodes(run.fleet, run.fault)
    figures = derive(lines[0] if run.processes == 1 else combine(lines))
    if not run.fault and figures.get("pairs"):
        figures |= node_figures(run, nodes, nodes_s, figures["pairs"])
    if run.workload == "wait":
        figures["node_commands_per_waiter"] = statistics.mean(node.commands(run.mode) for node in nodes) / run.clients
        figures["cpu_percent"] = 100 * figures["cpu_s"] / figures["seconds"]
    if run.fault or run.oddity == "stopped":
        remove_locks(nodes)
    check_clean(nodes, run)
    return figures


def remove_locks(nodes):
    """A node that was out of reach keeps what could not be released until its TTL ends: not while we wait."""
    for node in nodes:
        for _ in range(3):  # what was still on its way to a frozen node may come after
            node.ask("EVAL \"for _, k in ipairs(redis.call('KEYS', 'bench:*')) do redis.call('DEL', k) end\" 0")


def reset_statistics(nodes):
    """Returns the CPU time the nodes have used so far."""
    for node in nodes:
        node.ask("CONFIG RESETSTAT")
    return sum(node.cpu_s() for node in nodes)


def node_figures(run, nodes, nodes_s, pairs):
    figures = {"nodes_cpu_us_per_pair": (sum(node.cpu_s() for node in nodes) - nodes_s) * 1e6 / pairs}
    if run.workload == "acquires":  # EVALSHA is then the acquire script alone
        name = "set" if run.mode == "plain" else "evalsha"
        figures["node_us_per_acquire"] = statistics.mean(node.us_per_call(name) for node in nodes)
    return figures


def check_clean(nodes, run):
    """Releases go to all nodes but only a quorum is waited for: the rest may take a moment. Epochs and fences stay."""
    for _ in range(500):
        if all(node.ask("KEYS bench:*") == "*0" for node in nodes):
            return
        time.sleep(0.01)
    sys.exit(f"bench: {run} left keys behind")


# ---- the bare loop sends what the library sends ------------------------------------------------------------------


def shapes(fleets, run):
    """The commands a program sends, each as the lengths of its words; only the process id may differ."""
    seen = set()
    with fleets.nodes[0].connect() as link:
        link.sendall(b"MONITOR\r\n")
        with subprocess.Popen(command(fleets, run, 0.01), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            process.communicate("\n")
        link.sendall(b"PING the end\r\n")
        for line in link.makefile(encoding="latin-1"):
            words = re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"pid=\d+", "pid=", line))
            if words[:1] == ["PING"]:
                break
            if "bench:" in line and " lua]" not in line and words[0] != "EVAL":
                seen.add((words[0], *map(len, words[1:])))
    return seen


def check_bytes(fleets):
    """A node that had to wait for its core too long refuses a guarded acquire: then once more."""
    fleets.settle("tcp 1")
    for mode in cases.MODES:
        run = cases.LONE.but(mode=mode, fleet="tcp 1")
        for other in (cases.raw(run), cases.hiredis(run)):
            for _ in range(5):
                ours, theirs = shapes(fleets, run), shapes(fleets, other)
                if ours == theirs and len(ours) == 2:  # acquire and release
                    break
            else:
                sys.exit(f"bench: {other.program} does not send what the library sends: {sorted(theirs)}, {sorted(ours)}")

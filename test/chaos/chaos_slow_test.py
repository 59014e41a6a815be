"""A short run of real faults: the promises hold while nodes forget, while they only die, and while clocks are wrong, and the
same faults without the guard, and the store without fences, show that the run can tell. Prints TAP; make chaos runs longer.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parent / "run"
PROGRAMS = pathlib.Path(os.environ["BUILD"], "test")
TRIES = 6  # for what the machine may happen not to show in a moment


class Run:
    def __init__(self, kind, seconds, seed, *more):
        words = [sys.executable, RUN, PROGRAMS, "--kind", kind, "--seconds", "1", "--episode-seconds", str(seconds), "--seed",
                 str(seed), *more]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        self.status, self.output = done.returncode, done.stdout + done.stderr
        self.counts = {match[1].strip(): int(match[2].replace(",", ""))
                       for match in re.finditer(r"^([a-z ,-]+?) {2,}([\d,]+)$", self.output, re.MULTILINE)}
        print("".join(f"# {line}\n" for line in self.output.splitlines()), end="", flush=True)

    def forget(self):
        """The history of a run that was meant to fail is of no use."""
        for path in re.findall(r"\S*/redlock-chaos-\w+", self.output):
            shutil.rmtree(path, ignore_errors=True)
        return self


def until(condition, *words):
    """Runs until the condition holds, a few times at most; returns whether it did."""
    return any(condition(Run(*words[:2], seed, *words[2:]).forget()) for seed in range(1, TRIES + 1))


def is_clean(run):
    return run.status == 0 and run.counts["violations"] == 0 and run.counts["fences checked"] > 0 < run.counts["faults"]


def cases():
    forgetful = Run("forgetful", 4, 1)
    yield "no promise is broken while nodes forget", is_clean(forgetful)
    with concurrent.futures.ThreadPoolExecutor() as beside:  # most of a short run is waiting for new nodes to be admitted
        remembering, clocks = beside.submit(Run, "remembering", 2, 2), beside.submit(Run, "clocks", 2, 3)
    yield "no promise is broken while nodes die and plain clients share the names", is_clean(remembering.result())
    yield "fences rise while clocks are wrong", is_clean(clocks.result())
    yield "an unfenced store loses updates to clients that were paused", (
        forgetful.counts.get("lost in the unfenced store", 0) > 0 or
        until(lambda run: run.counts.get("lost in the unfenced store", 0) > 0, "forgetful", 5))
    yield "without the guard two hold a lock, and the judge sees it", until(
        lambda run: run.status == 1 and run.counts.get("overlaps", 0) > 0, "unguarded", 2)


def main():
    print("1..5")
    good = True
    for number, (name, passed) in enumerate(cases(), 1):
        print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
        good = good and passed
    sys.exit(0 if good else 1)


main()

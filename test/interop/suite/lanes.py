"""Rows side by side: each is made by a process of its own, a few at a time, since most of a row is waiting for leases to end. What several of
them install or fetch is taken in turns. Nothing here knows what a row is about."""

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import tempfile
import time

LANES = int(os.environ.get("LANES") or (os.cpu_count() or 1) + 1)  # a row computes for a third of its time
LOOK_S = 0.1


@contextlib.contextmanager
def turn(path):
    """One process at a time for what is kept in a folder."""
    pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    with open(pathlib.Path(path) / "turn", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Job:
    """A process that writes its row to a file, named last among its words."""

    def __init__(self, key, words, folder):
        self.key = key
        self.path = pathlib.Path(folder) / "-".join(key)
        self.process = subprocess.Popen([*words, self.path], stdin=subprocess.DEVNULL)

    def row(self):
        if self.process.returncode != 0:
            return {"broken": f"its process ended with {self.process.returncode}"}
        return json.loads(self.path.read_text())

    def end(self):
        """It ends its own nodes and drivers first."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def run(jobs):
    """jobs: key of each, and the words that start it. Yields key and row as each is done; ends all that run when the caller goes."""
    left, running = list(jobs.items()), []
    with tempfile.TemporaryDirectory(prefix="redlock-lanes.") as folder:
        try:
            while left or running:
                while left and len(running) < LANES:
                    running.append(Job(*left.pop(0), folder))
                done = [job for job in running if job.process.poll() is not None]
                running = [job for job in running if job not in done]
                for job in done:
                    yield job.key, job.row()
                if not done:
                    time.sleep(LOOK_S)
        finally:
            for job in running:
                job.end()

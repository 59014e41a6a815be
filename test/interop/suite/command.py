"""Our side: the redlock command as a user runs it, once or in the background, in a mode, with what it said."""

import json
import os
import re
import signal
import subprocess

from suite.checks import Failed, expect, until

FINISH_S = 120
FREE = ("free", "granted")  # what a node says that the holder is not on
MODES = {"plain": ["--plain"], "guarded": [],
         "redisson": ["--format", "redisson"]}  # a format of locks, in plain mode


class Running:
    """A redlock in the background, with --status-fd and its trace."""

    def __init__(self, words, environment, folder):
        self.out, self.trace_path, self.events_path = (f"{folder}/{name}" for name in ("out", "trace", "events"))
        with open(self.out, "wb") as out, open(self.trace_path, "wb") as trace, open(self.events_path, "wb") as events:
            self.process = subprocess.Popen(
                [*words[:2], "--status-fd", str(events.fileno()), *words[2:]], stdin=subprocess.DEVNULL, stdout=out,
                stderr=trace, env=environment, pass_fds=[events.fileno()], start_new_session=True)
        self.marked = self.free_before = 0

    def events(self):
        with open(self.events_path) as file:
            return [json.loads(line)["event"] for line in file if line.endswith("\n")]

    def trace(self):
        with open(self.trace_path, errors="replace") as file:
            return file.read()

    def mark(self):
        """heard_from is about what comes from here on."""
        self.marked = len(self.trace())
        self.free_before = sum(word in FREE for word in self.last_words().values())

    def heard_from(self, word):
        """Which nodes said a word since the mark."""
        return set(re.findall(r"\] node (\d+) +> " + word, self.trace()[self.marked:]))

    def was_told_by(self, quorum):
        """Whether so many nodes are free, since they were at the mark, told it of a change since, or handed the lock to it."""
        return len(self.heard_from("(?:changed|handed)")) >= quorum - self.free_before

    def last_words(self):
        """The last that each node said, by node; but for denials, which come now and then to one that stands in line."""
        return dict(re.findall(r"\] node (\d+) +> (?!denied)(\w+)", self.trace()))

    def finish(self):
        """Waits for its end; returns its exit code and what its command printed."""
        try:
            code = self.process.wait(FINISH_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f"redlock hung; its trace ended with: {self.trace()[-300:]}") from None
        with open(self.out) as file:
            return code, file.read().strip()

    def stop(self):
        """Lets it release and end, as a user would with Ctrl-C."""
        self.process.send_signal(signal.SIGTERM)
        return self.finish()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Redlock:
    """The command on a fleet, in a mode."""

    def __init__(self, program, fleet, mode, folder, prefix=""):
        self.program, self.fleet, self.mode, self.folder, self.prefix = program, fleet, mode, folder, prefix
        self.started = []
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("REDLOCK_")}
        self.environment |= {"REDLOCK_NODES": fleet.urls(), "HOME": folder, "XDG_CONFIG_HOME": folder, "LC_ALL": "C.UTF-8"}

    def words(self, verb, *words):
        """The command line."""
        return [self.program, verb, *MODES[self.mode], *(["--prefix", self.prefix] if self.prefix else []), *words]

    def run(self, verb, *words, owner=None):
        """Runs it to its end: exit code, stdout, stderr."""
        environment = self.environment | ({"REDLOCK_OWNER": owner} if owner else {})
        done = subprocess.run(self.words(verb, *words), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment, timeout=FINISH_S)
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def start(self, *words):
        """redlock run in the background."""
        folder = f"{self.folder}/{self.mode}-{len(self.started)}"
        os.makedirs(folder)
        made = Running(self.words("run", "-v", *words), self.environment, folder)
        self.started.append(made)
        return made

    def hold(self, name, *words):
        """A holder in the background that has it."""
        holder = self.start(*words, name, "--", "sleep", "600")
        until(f"we hold {name}", lambda: "acquired" in holder.events() or self.given_up(holder))
        return holder

    def wait_for(self, name, *words):
        """A waiter in the background that knows from every node whether it is held there."""
        waiter = self.start(*words, name, "--", "echo", "ran")
        until(f"our waiter knows that {name} is held", lambda: self.knows_it_is_held(waiter) or self.given_up(waiter))
        return waiter

    def knows_it_is_held(self, waiter):
        """By what each node said last. One that was too late for the holder may be free, or have granted it to a waiter in line."""
        words = list(waiter.last_words().values())
        return len(words) == len(self.fleet.nodes) and set(words) <= {"held", *FREE} and words.count("held") >= self.fleet.quorum()

    @staticmethod
    def given_up(running):
        if running.process.poll() is not None:
            raise Failed(f"redlock ended with {running.process.returncode}: {running.trace().strip()[-200:]}")
        return False

    def acquire(self, name, ttl):
        """redlock acquire: the owner value. Nothing renews it."""
        code, out, err = self.run("acquire", name, "--ttl", ttl, "--wait", "30s")
        expect(f"we acquire {name} ({err})", code, 0)
        return re.search(r"^owner (.*)$", out, re.M)[1]

    def admit_nodes(self):
        done = subprocess.run([self.program, "init", "--yes", "--force", "-q"], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"redlock init: {done.stderr.strip()}")

    def clean_up(self):
        for running in self.started:
            if running.process.poll() is None:
                running.kill()

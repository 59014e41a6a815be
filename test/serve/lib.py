"""What the tests of redlock serve share: real nodes, instances of the service, requests, and TAP. Not a test itself."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

REDLOCK = os.environ["REDLOCK"]
PATIENCE_S = 60  # until a state that is waited for counts as never reached

work = pathlib.Path(tempfile.mkdtemp(prefix="redlock-serve-"))
started = []
services = []


# ---- checks ----------------------------------------------------------------------------------------------------------

tests = []


def test(function):
    """Marks a test; its name is a sentence."""
    tests.append(function)
    return function


def every_instance_ends_when_it_is_asked_to():
    """Whatever the tests left it in: so a sanitizer sees what was not freed, and lines that ran are counted."""
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
    running = [service for service in services if service.process.poll() is None]
    for service in running:
        service.process.send_signal(signal.SIGTERM)
    for service in running:
        equal(service.process.wait(PATIENCE_S), 0, "\n".join(service.words[-20:]))


def main():
    """Runs the tests in order and prints TAP."""
    failures = 0
    try:
        for number, function in enumerate(tests + [every_instance_ends_when_it_is_asked_to], start=1):
            try:
                skipped = function()  # a test that cannot run here returns why
                print(f"ok {number} - {function.__name__}" + (f" # SKIP {skipped}" if isinstance(skipped, str) else ""), flush=True)
            except Exception:  # noqa: BLE001 - anything that goes wrong fails this test only
                failures += 1
                print(f"not ok {number} - {function.__name__}")
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
        print(f"1..{len(tests) + 1}")
    finally:
        clean_up()
    sys.exit(1 if failures else 0)


def equal(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what} {actual!r} instead of {expected!r}")


def until(condition, what="a state"):
    """Waits for something to become true."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} was never reached")
        time.sleep(0.01)


def clean_up():
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
    for process in started:
        process.wait()
    shutil.rmtree(work, ignore_errors=True)


# ---- nodes -----------------------------------------------------------------------------------------------------------

# A node that is slow for want of a processor is not a silent one.
PATIENT = "connect_timeout = 5s\nnode_timeout = 5s\n"


class Fleet:
    """Five real servers on unix sockets, which may vote."""

    def __init__(self, name="fleet"):
        self.folder = work / name
        self.folder.mkdir()
        settings = work / ".config" / "redlock" / "redlock.conf"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(PATIENT, encoding="utf-8")
        self.processes = [self.start(number) for number in range(5)]
        for number in range(5):
            until(lambda: self.ask(number, "PING") == "PONG", "a node that answers")
        self.nodes = " ".join(f"unix://{self.path(number)}" for number in range(5))
        subprocess.run([REDLOCK, "init", "--yes", "-q"], env=self.environment(), check=True)

    def path(self, number):
        return self.folder / f"{number}.sock"

    def start(self, number):
        process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path(number), "--save", "", "--appendonly", "no",
             "--dir", self.folder, "--logfile", self.folder / f"{number}.log"], stdin=subprocess.DEVNULL)
        started.append(process)
        return process

    def ask(self, number, *words):
        """What redis-cli says."""
        done = subprocess.run(["redis-cli", "-s", self.path(number), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def environment(self):
        return {**os.environ, "REDLOCK_NODES": self.nodes, "HOME": str(work), "XDG_RUNTIME_DIR": str(work),
                "XDG_CONFIG_HOME": str(work / ".config")}

    def copies(self, name):
        """On how many nodes a key is there."""
        return sum(self.ask(number, "EXISTS", name) == "1" for number in range(5))

    def freeze(self, *numbers):
        for number in numbers:
            self.processes[number].send_signal(signal.SIGSTOP)

    def thaw(self, *numbers):
        for number in numbers:
            self.processes[number].send_signal(signal.SIGCONT)


# ---- the service -----------------------------------------------------------------------------------------------------

class Service:
    """One instance of redlock serve, on free ports."""

    def __init__(self, fleet, *options, config="", listen="127.0.0.1:0", resp=False, environment=None, wait=True):
        self.words = []
        path = None
        arguments = [REDLOCK, "serve", *options]
        if config:
            path = work / f"serve-{len(started)}.conf"
            path.write_text("".join(f"node = {node}\n" for node in fleet.nodes.split()) + PATIENT + config, encoding="utf-8")
            path.chmod(0o600)
            arguments += ["--config", path]
        if listen:
            arguments += ["--listen", listen]
        if resp:
            arguments += ["--resp", "127.0.0.1:0"]
        environment = {**fleet.environment(), **(environment or {})}
        if config:
            del environment["REDLOCK_NODES"]
        self.process = subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True)
        started.append(self.process)
        services.append(self)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.expected = bool(listen) + bool(resp)
        if wait:
            until(lambda: self.ports("HTTP") if listen else True, "a service that listens")
            until(lambda: not resp or self.ports("RESP"), "a RESP port")
            if listen:
                self.port = self.ports("HTTP")[0]
            if resp:
                self.resp_port = self.ports("RESP")[0]

    def read(self):
        for line in self.process.stderr:
            self.words.append(line.rstrip("\n"))

    def ports(self, protocol):
        """The ports it said it listens on."""
        found = [re.search(rf"listening for {protocol} on \S*:(\d+)", line) for line in list(self.words)]
        return [int(match[1]) for match in found if match]

    def said(self, text):
        return any(text in line for line in list(self.words))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def ask(self, method, path, body=None, **fields):
        """Status, header fields and JSON of one request on a connection of its own."""
        connection = self.connect()
        try:
            return ask(connection, method, path, body, **fields)
        finally:
            connection.close()

    def take(self, name, **body):
        """Takes a lock that has to be free, and returns the lease."""
        status, _, lease = self.ask("POST", f"/v1/locks/{name}", body)
        equal(status, 201, lease)
        return lease

    def meet(self, fleet):
        """Waits until it has met all nodes: what it takes from then on is on all of them, and not only on those that were quick."""
        def is_everywhere():
            lease = self.take("met", ttl_ms=30000)
            deadline = time.monotonic() + PATIENCE_S / 12
            while fleet.copies("met") < len(fleet.processes) and time.monotonic() < deadline:
                time.sleep(0.01)
            found = fleet.copies("met")
            equal(release(self, "met", lease), 204)
            return found == len(fleet.processes)
        until(is_everywhere, "a lock that is on all nodes")
        return self

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def ask(connection, method, path, body=None, **fields):
    headers = {key.replace("_", "-"): value for key, value in fields.items()}
    data = None
    if body is not None:
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        headers.setdefault("Content-Type", "application/json")
    connection.request(method, path, data, headers)
    answer = connection.getresponse()
    content = answer.read()
    return answer.status, dict(answer.getheaders()), json.loads(content) if content else None


def release(service, name, lease):
    return service.ask("DELETE", f"/v1/locks/{name}", Redlock_Token=lease["token"])[0]


class Stream:
    """An event stream: a request whose answer goes on."""

    def __init__(self, service, path, **fields):
        self.socket = service.raw()
        lines = [f"GET {path} HTTP/1.1", "Host: localhost"]
        lines += [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass

    def next(self):
        """The next event: its type, its data and its id; None at the end of the stream."""
        event = {"type": None, "data": None, "id": None}
        while True:
            line = self.file.readline()
            if not line:
                return None
            line = line.rstrip("\n")
            if not line and event["type"]:
                return event
            if line.startswith("event: "):
                event["type"] = line[7:]
            elif line.startswith("data: "):
                event["data"] = json.loads(line[6:])
            elif line.startswith("id: "):
                event["id"] = line[4:]

    def close(self):
        self.file.close()
        self.socket.close()

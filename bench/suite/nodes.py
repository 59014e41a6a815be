"""The redis-servers of a benchmark, and the emulated network in front of them. All are children of this process, live in
a temporary folder and are ended with it; nothing is pinned or tuned."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

PORTS = iter(range(29000 + os.getpid() % 2000, 32768))  # below the ports of outgoing connections
SENT = ("eval", "evalsha", "getrange", "subscribe", "client|tracking", "client|caching")  # never by a script
SETTLED_S = 6  # fences of admitted nodes start 5 s ahead of the clock; until it has caught up a lock may take two rounds


def free_port():
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    sys.exit("bench: no free port")


class Node:
    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.path = f"{folder}/{self.port}.sock"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.path,
             "--dir", self.folder, "--save", "", "--appendonly", "no", "--daemonize", "no"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        for _ in range(500):
            with contextlib.suppress(OSError):
                self.ask("PING")
                return
            time.sleep(0.01)
        sys.exit(f"bench: no redis-server came up on port {self.port}")

    def connect(self):
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(10)
        link.connect(self.path)
        return link

    def ask(self, words):
        """Sends one command and returns the first line of the answer."""
        with self.connect() as link:
            link.sendall(words.encode() + b"\r\n")
            return link.makefile().readline().strip()

    def info(self, section):
        """The answer of INFO as name: value."""
        with self.connect() as link:
            link.sendall(f"INFO {section}\r\n".encode())
            answer = link.makefile("rb")
            text = answer.read(int(answer.readline()[1:])).decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def cpu_s(self):
        used = self.info("cpu")
        return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])

    def us_per_call(self, command):
        return float(re.search(r"usec_per_call=([\d.]+)", self.info("commandstats")[f"cmdstat_{command}"])[1])

    def commands(self, mode):
        """How many were sent to it since its statistics were reset. What scripts call is counted there, too: SET, but in plain mode."""
        calls = {name.removeprefix("cmdstat_"): int(re.search(r"calls=(\d+)", text)[1])
                 for name, text in self.info("commandstats").items() if name.startswith("cmdstat_")}
        return sum(calls.get(name, 0) for name in SENT + ("set",) * (mode == "plain"))

    def stop(self):
        self.process.kill()  # works on a frozen one too
        self.process.wait()


class Fleets:
    """Nodes that are never killed, spares that may be, and a latency proxy. A fleet is named "tcp 5": the transport
    (tcp, unix, 1ms, spare) and how many nodes."""

    def __init__(self, programs, folder, nodes=9, spares=5):
        self.programs = programs
        self.nodes = []
        self.spares = []
        self.proxy = None
        for _ in range(nodes):
            self.nodes.append(Node(folder))
        for _ in range(spares):
            self.spares.append(Node(folder))
        self.settled = {}  # by the first node of a fleet: when its guarded locks take one round again
        self.far_ports = {node.port: free_port() for node in self.nodes}
        self.proxy = subprocess.Popen(
            [programs / "latency_proxy", "500", *(f"{far}:{near}" for near, far in self.far_ports.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.proxy.stdout.readline()
        self.admit(self.nodes)
        if self.spares:
            self.admit(self.spares)

    def of(self, fleet):
        transport, count = fleet.split()
        return (self.spares if transport == "spare" else self.nodes)[:int(count)]

    def urls(self, fleet):
        transport = fleet.split()[0]
        if transport == "unix":
            return ",".join(f"unix://{node.path}" for node in self.of(fleet))
        ports = [self.far_ports[node.port] if transport == "1ms" else node.port for node in self.of(fleet)]
        return ",".join(f"127.0.0.1:{port}" for port in ports)

    def admit(self, nodes):
        """Lets nodes vote that are new or were wiped."""
        urls = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        subprocess.run([self.programs / "redlock_bench", "-m", "guarded", "-n", urls, "init"], check=True)
        self.settled[nodes[0].port] = time.monotonic() + SETTLED_S

    def settle(self, fleet):
        time.sleep(max(0, self.settled[self.of(fleet)[0].port] - time.monotonic()))

    def break_nodes(self, fleet, fault):
        kind, count = fault.split()
        for node in self.of(fleet)[:int(count)]:
            if kind == "freeze":
                node.process.send_signal(signal.SIGSTOP)
            else:
                node.stop()

    def repair_nodes(self, fleet, fault):
        kind, count = fault.split()
        for node in self.of(fleet)[:int(count)]:
            if kind == "freeze":
                node.process.send_signal(signal.SIGCONT)
                node.ask("PING")
            else:
                node.start()
        if kind == "kill":
            self.admit(self.of(fleet))

    def stop(self):
        for node in self.nodes + self.spares:
            node.stop()
        if self.proxy:
            self.proxy.kill()
            self.proxy.wait()

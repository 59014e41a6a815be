"""Real redis-servers and the network in front of them, and everything that can be done to one of them. A node is a server on a
unix socket, a relay that is its way to the world, and, where name spaces are allowed, a network of its own for both.
It decides nothing about when.
"""

import mmap
import os
import pathlib
import resource
import shutil
import signal
import socket
import struct
import subprocess
import time

import processes

PATIENCE_S = 30
DISK_BYTES = 48 << 20
CONFIG = """port 0
unixsocket {folder}/socket
dir {folder}/data
logfile {folder}/log
daemonize no
save ""
appendonly yes
appendfsync always
auto-aof-rewrite-min-size 4mb
loglevel warning
"""
CLOCK = struct.Struct("=I4xqqq")  # struct clock_shim


class Cable:
    """The way to a node that has a network of its own: a cable that can be pulled."""

    def __init__(self, number):
        self.inside = ["nsenter", f"--net=/run/netns/node{number}"]
        self.device, self.address, self.port = f"cable{number}", f"10.77.{number}.2", 6379
        processes.run("ip", "netns", "add", f"node{number}")
        processes.run("ip", "link", "add", self.device, "type", "veth", "peer", "name", "eth0", "netns", f"node{number}")
        processes.run("ip", "address", "add", f"10.77.{number}.1/24", "dev", self.device)
        processes.run(*self.inside, "ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        processes.run(*self.inside, "ip", "link", "set", "eth0", "up")
        processes.run("ip", "link", "set", self.device, "up")

    def pull(self, _):
        processes.run("ip", "link", "set", self.device, "down")

    def plug(self, _):
        processes.run("ip", "link", "set", self.device, "up")

    def remove(self):
        processes.run("ip", "netns", "delete", self.inside[1].split("/")[-1])


class Loopback:
    """The way to a node where name spaces are not allowed: the relay plays the pulled cable."""

    def __init__(self):
        self.inside, self.address, self.port = [], "127.0.0.1", 0

    def pull(self, node):
        node.order("hold 1", "mute 1")

    def plug(self, node):
        node.order("hold 0", "mute 0")

    def remove(self):
        pass


class Node:
    def __init__(self, number, folder, programs, isolated, durable):
        self.number, self.programs, self.isolated = number, programs, isolated
        self.durable = durable  # clients are told that it keeps its memory over a restart
        self.folder = folder / f"node{number}"
        self.data = self.folder / "data"
        self.data.mkdir(parents=True)
        self.clock_offset_us = 0
        self.server = self.relay = None
        if isolated:
            processes.run("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", self.data)
        self.way = Cable(number) if isolated else Loopback()
        (self.folder / "redis.conf").write_text(CONFIG.format(folder=self.folder), encoding="utf-8")
        (self.folder / "clock").write_bytes(bytes(CLOCK.size))
        self.start()
        self.start_relay()

    def __str__(self):
        return f"node {self.number}"

    # ---- the server --------------------------------------------------------------------------------------------

    def start(self):
        if self.server is not None:
            return
        self.server = processes.start(
            [*self.way.inside, "redis-server", self.folder / "redis.conf"],
            env={**os.environ, "LD_PRELOAD": str(self.programs / "clock_shim.so")},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while self.ask("PING") != "+PONG":
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"node {self.number} did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.005)

    def ask(self, words):
        """Sends one command past the relay and returns the first line of the answer, "" when there is none."""
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(PATIENCE_S)
                link.connect(f"{self.folder}/socket")
                link.sendall(words.encode() + b"\r\n")
                return link.makefile().readline().strip()
        except OSError:
            return ""

    def kill(self):
        if self.server is not None:
            processes.end(self.server)
        self.server = None

    def wipe(self):
        """Kills it, and what it had written is gone. Its clock goes on."""
        self.kill()
        for path in self.data.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def copy_data(self):
        self.freeze()
        shutil.copytree(self.data, self.folder / "old")
        self.thaw()

    def restore_data(self):
        """Kills it, and it comes back as it was when its data were copied."""
        self.wipe()
        shutil.copytree(self.folder / "old", self.data, dirs_exist_ok=True)
        shutil.rmtree(self.folder / "old")
        self.start()

    def freeze(self):
        self.server.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.server.send_signal(signal.SIGCONT)

    def fill_disk(self):
        """Its next write fails, and it ends: a server that may not lose anything must not go on."""
        if not self.isolated:
            resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            return
        with open(self.data / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass

    def empty_disk(self):
        """Starts it again if it has ended; where it had no cause to write, it goes on."""
        (self.data / "filler").unlink(missing_ok=True)
        if self.server.poll() is not None:
            self.kill()
            self.start()
        elif not self.isolated:
            resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    # ---- its clock ---------------------------------------------------------------------------------------------

    def set_clock(self, step_us=0, rate_ppm=0):
        """From now on it is off by so much more, and gains so much. The shim reads until the first number is even twice."""
        with open(self.folder / "clock", "r+b") as file, mmap.mmap(file.fileno(), CLOCK.size) as shim:
            sequence, offset, rate, since = CLOCK.unpack(shim[:])
            now = time.time_ns() // 1000
            offset += (now - since) * rate // 1000000 + step_us
            struct.pack_into("=I", shim, 0, sequence + 1)
            struct.pack_into("=qqq", shim, 8, offset, rate_ppm, now)
            struct.pack_into("=I", shim, 0, sequence + 2)
        self.clock_offset_us = offset

    # ---- the way to it -----------------------------------------------------------------------------------------

    def start_relay(self):
        self.relay = processes.start(
            [*self.way.inside, self.programs / "chaos-relay", self.way.address, self.way.port, self.folder / "socket"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"{self.way.address}:{self.relay.stdout.readline().strip()}"

    def order(self, *lines):
        self.relay.stdin.write("".join(line + "\n" for line in lines))
        self.relay.stdin.flush()

    def pull(self):
        self.way.pull(self)

    def plug(self):
        self.way.plug(self)

    # ---- its end -----------------------------------------------------------------------------------------------

    def remove(self):
        self.kill()
        if self.relay is not None:
            processes.end(self.relay)
            self.relay.stdin.close()
            self.relay.stdout.close()
        self.way.remove()
        if self.isolated:
            processes.run("umount", self.data)
        shutil.rmtree(self.folder, ignore_errors=True)


def start_nodes(count, durable, folder, programs, isolated):
    nodes = []
    try:
        for number in range(1, count + 1):
            nodes.append(Node(number, pathlib.Path(folder), programs, isolated, number in durable))
    except BaseException:
        for node in nodes:
            node.remove()
        raise
    return nodes

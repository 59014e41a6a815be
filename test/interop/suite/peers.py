"""The libraries that locks are shared with: which there are, how they are installed, and a driver of one that runs. What is
installed where is up to bench/peers/peer."""

import dataclasses
import pathlib
import re
import select
import shutil
import subprocess
import sys

from suite import lanes
from suite.checks import Failed, Unavailable

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = SOURCE / "bench" / "peers" / "peer"
INSTALL_S = 1200
ANSWER_S = 200  # the counter is one answer


@dataclasses.dataclass(frozen=True)
class Peer:
    folder: str  # of bench/peers
    title: str
    package: str  # as its manifest writes it, before the version
    kind: str = "-"
    nodes: int = 5  # one for libraries that know one node
    prefix: str = ""  # what it puts before a name
    can_extend: bool = True  # by a call
    renews: bool = False  # by itself, when it is asked for a lease of 0
    has_several: bool = False
    is_exclusive: bool = True  # a read lock is not
    modes: tuple = ("plain", "guarded")  # of ours
    waits: bool = False  # by itself, and is told of our releases, since we speak its own format

    @property
    def name(self):
        name = self.folder if self.kind == "-" else f"{self.folder}-{self.kind}"
        return f"{name}-own" if self.waits else name

    def version(self):
        for manifest in sorted((SCRIPT.parent / self.folder).glob("*.*")):
            found = re.search(re.escape(self.package) + r"\D*?(\d[^\s\"<]*)", manifest.read_text())
            if found and not manifest.name.startswith("main"):
                return found[1]
        return ""


PEERS = [
    Peer("redis-py", "redis-py Lock (Python)", "redis="),
    Peer("redlock-py", "redlock-py (Python)", "redlock-py", can_extend=False),
    Peer("pottery", "pottery (Python)", "pottery", prefix="redlock:"),
    Peer("aioredlock", "aioredlock (Python)", "aioredlock"),
    Peer("python-redis-lock", "python-redis-lock (Python)", "python-redis-lock", nodes=1, prefix="lock:"),
    Peer("node-redlock-5", "node-redlock 5 (Node.js)", '"redlock"', has_several=True),
    Peer("node-redlock-4", "node-redlock 4 (Node.js)", '"redlock"', has_several=True),
    Peer("redlock-universal", "redlock-universal (Node.js)", '"redlock-universal"'),
    Peer("redis-semaphore", "redis-semaphore (Node.js)", '"redis-semaphore"', prefix="mutex:"),
    Peer("redsync", "redsync (Go)", "redsync/v4 v"),
    Peer("redislock", "bsm/redislock (Go)", "bsm/redislock v", nodes=1),
    Peer("rueidislock", "rueidislock (Go)", "rueidis v", nodes=1, prefix="rueidislock:0:", can_extend=False, renews=True),
    Peer("rslock", "rslock (Rust)", "rslock"),
    Peer("jedis", "Jedis, the recipe by hand (Java)", "artifactId>jedis<"),
    # Redisson's key is a hash: either side respects what the other holds. With --format redisson it is our format, too: below.
    Peer("redisson", "Redisson RedLock (Java)", "artifactId>redisson<", "redlock", can_extend=False, renews=True),
    Peer("redisson", "Redisson RLock (Java)", "artifactId>redisson<", "rlock", nodes=1, can_extend=False, renews=True),
    Peer("redisson", "Redisson fair (Java)", "artifactId>redisson<", "fair", nodes=1, can_extend=False, renews=True),
    Peer("redisson", "Redisson read (Java)", "artifactId>redisson<", "read", nodes=1, can_extend=False, renews=True,
         is_exclusive=False),
    Peer("redisson", "Redisson write (Java)", "artifactId>redisson<", "write", nodes=1, can_extend=False, renews=True),
]
PEERS += [dataclasses.replace(peer, title=f"{peer.title}, `--format redisson`", modes=("redisson",), waits=True)
          for peer in PEERS if peer.folder == "redisson"]
RECIPE = "recipe"


def recipe(kind):
    """The algorithm by hand, without a library, right or with a fault: for the test of this suite."""
    if kind.startswith("hash"):
        return Peer(RECIPE, f"the recipe by hand, {kind}", "-", kind, nodes=1, can_extend=False, modes=("redisson",), waits=True)
    # A guarded waiter stands in line: when it has come back, it is handed the lock, which is being told, too.
    modes = ("plain",) if kind == "deafening" else ("plain", "guarded")
    return Peer(RECIPE, f"the recipe by hand, {kind}", "-", kind, has_several=True, modes=modes)


def chosen(word):
    """The one of that name, or those whose name begins with a word; all without one."""
    found = [peer for peer in PEERS if peer.name == word] or [peer for peer in PEERS if peer.name.startswith(word or "")]
    if not found:
        sys.exit(f"interop: unknown peer {word}; there are: {', '.join(peer.name for peer in PEERS)}")
    return found


def install(peer, folder):
    if peer.folder == RECIPE:
        return
    place = folder / peer.folder
    log_path = place / "install.log"
    with lanes.turn(place), open(log_path, "w") as log:
        try:
            code = subprocess.run([SCRIPT, "install", peer.folder, place], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  timeout=INSTALL_S).returncode
        except subprocess.TimeoutExpired:
            code = "too long"
    if code != 0:
        words = log_path.read_text().strip().splitlines() or ["no reason given"]
        raise Unavailable(f"not installed: {words[-1][:120]} ({log_path})")


class Driver:
    """A library that does as it is told, line by line."""

    def __init__(self, peer, folder, addresses):
        start = [SCRIPT, "share", peer.folder, folder / peer.folder]
        if peer.folder == RECIPE:
            start = [shutil.which("python3"), SOURCE / "test" / "interop" / "drivers" / "recipe.py"]
        self.can_extend, self.renews = peer.can_extend, peer.renews
        self.log = open(folder / f"{peer.name}.log", "ab")
        self.process = subprocess.Popen([*start, peer.kind, *addresses], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, bufsize=1, start_new_session=True)
        self.expects_ready = True

    def answer(self):
        if not select.select([self.process.stdout], [], [], ANSWER_S)[0]:
            raise Failed("the driver hung")
        line = self.process.stdout.readline().strip()
        if not line:
            raise Failed(f"the driver ended; see {self.log.name}")
        return line

    def be_ready(self):
        if self.expects_ready and (line := self.answer()) != "ready":
            raise Failed(f"the driver did not start: {line}")
        self.expects_ready = False

    def begin(self, *words):
        """Sends a command whose answer is asked for later."""
        self.be_ready()
        print(*words, file=self.process.stdin, flush=True)

    def tell(self, *words):
        """Sends a command and returns the answer."""
        self.begin(*words)
        return self.answer()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()

"""Other people's locks, on the same nodes and the same workloads: which there are, how they are installed and run. Their
drivers are in bench/peers; one that cannot be installed or fails is shown with the reason."""

import dataclasses
import json
import pathlib
import select
import statistics
import subprocess

from suite import clusters

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "peers" / "peer"
INSTALL_S = 1200
GRACE_S = 15  # beyond the seconds of a run
READY_S = 60  # to start and warm up
TURNS = 2


@dataclasses.dataclass(frozen=True)
class Peer:
    folder: str
    name: str
    fleet: str = "tcp 5"
    is_redlock: bool = True  # somebody else's, with the same algorithm on as many independent nodes as ours


PEERS = [
    Peer("redsync", "redsync 4.13.0 (Go)"),
    Peer("rslock", "rslock 0.10.0 (Rust)"),
    Peer("node-redlock-4", "node-redlock 4.2.0"),
    Peer("node-redlock-5", "node-redlock 5.0.0-beta.2"),
    Peer("libredlock-python", "libredlock (our Python package)", is_redlock=False),
    Peer("redlock-py", "redlock-py 1.0.8"),
    Peer("pottery", "pottery 3.0.1 (Python)"),
    Peer("redisson", "Redisson 3.52.0 RedLock (Java)"),
    Peer("redis-py", "redis-py 5.2.1 Lock", "tcp 1", False),
    Peer("rueidislock", "rueidislock 1.0.60 (Go)", "tcp 1", False),
    Peer("etcd", "etcd 3.4, client 3.5.31 (Go)", "etcd 3", False),
    Peer("zookeeper", "ZooKeeper 3.8.4, kazoo 2.10.0", "zookeeper 3", False),
]
WORKLOADS = {  # name: (workload, clients, length)
    "lone": ("pairs", 1, 1),
    "callers": ("pairs", 100, 2),
    "frozen": ("pairs", 1, 3),
    "contend": ("contend", 16, 4),
}


class Failed(Exception):
    """The words say why."""


def install(peer, folder):
    """Installs it unless that was done before; the log stays beside it."""
    place = folder / peer.folder
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "install.log", "w") as log:
        try:
            code = subprocess.run([SCRIPT, "install", peer.folder, place], stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, timeout=INSTALL_S).returncode
        except subprocess.TimeoutExpired:
            code = "too long"
    if code != 0:
        words = (place / "install.log").read_text().strip().splitlines() or ["no reason given"]
        raise Failed(f"not installed ({code}): {words[-1][:100]}")


class OnNodes:
    """The redis-servers that the library runs on too, with the interface of a cluster."""

    def __init__(self, fleets, fleet):
        self.fleets, self.fleet = fleets, fleet

    def urls(self):
        return self.fleets.urls(self.fleet)

    def freeze(self):
        self.fleets.break_nodes(self.fleet, "freeze 1")

    def thaw(self):
        self.fleets.repair_nodes(self.fleet, "freeze 1")

    def clean(self):
        """What it left behind would keep the next one waiting."""
        for node in self.fleets.of(self.fleet):
            node.ask("EVAL \"for _, k in ipairs(redis.call('KEYS', '*bench:0*')) do redis.call('DEL', k) end\" 0")

    def stop(self):
        pass


def place_for(peer, fleets, folder, temporary):
    kind = {"etcd": clusters.Etcd, "zookeeper": clusters.ZooKeeper}.get(peer.fleet.split()[0])
    return kind(folder / peer.folder, temporary) if kind else OnNodes(fleets, peer.fleet)


def wait_until_ready(process):
    if not select.select([process.stdout], [], [], READY_S)[0]:
        raise Failed("hung")
    if process.stdout.readline() != "ready\n":
        raise Failed(f"did not start: {process.stderr.read().strip()[-100:]}")


def run(peer, place, folder, workload, seconds):
    words, clients, length = WORKLOADS[workload]
    process = subprocess.Popen(
        [SCRIPT, "start", peer.folder, folder / peer.folder, place.urls(), words, str(clients), str(seconds * length)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    frozen = False
    try:
        wait_until_ready(process)
        if workload == "frozen":
            place.freeze()
            frozen = True
        output, errors = process.communicate("\n", timeout=seconds * length + GRACE_S)
        if process.returncode != 0:
            raise Failed(f"ended with {process.returncode}: {errors.strip()[-100:]}")
        return json.loads(output.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        raise Failed("hung") from None
    finally:
        process.kill()
        process.communicate()
        if frozen:
            place.thaw()
        if isinstance(place, OnNodes):
            place.clean()


def measure(peer, fleets, folder, temporary, seconds, say):
    """The figures of a peer by workload, or why there are none."""
    row = {"name": peer.name, "fleet": peer.fleet.replace("tcp ", ""), "is_redlock": peer.is_redlock}
    place = None
    try:
        say(f"bench: installing {peer.name}")
        install(peer, folder)
        place = place_for(peer, fleets, folder, temporary)
        made = {workload: [] for workload in WORKLOADS if workload != "frozen" or peer.fleet != "tcp 1"}
        for _ in range(TURNS):
            for workload, turns in made.items():
                say(f"bench: {peer.name} {workload}")
                if not any("failed" in turn for turn in turns):
                    turns.append(attempt(peer, place, folder, workload, seconds))
        return row | {"rows": {workload: middle(turns) for workload, turns in made.items()}}
    except (Failed, RuntimeError, OSError) as why:
        return row | {"skipped": str(why)}
    finally:
        if place:
            place.stop()


def attempt(peer, place, folder, workload, seconds):
    try:
        return run(peer, place, folder, workload, seconds)
    except Failed as why:
        return {"failed": str(why)}


def middle(turns):
    """Medians of the turns; a turn that failed makes the row failed."""
    failed = [turn for turn in turns if "failed" in turn]
    if failed:
        return failed[0]
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0] if all(key in turn for turn in turns)}


def rate_of(rows, folder, workload):
    """Pairs per second of one of them; None when it was not measured."""
    name = next(peer.name for peer in PEERS if peer.folder == folder)
    made = next((row.get("rows", {}).get(workload, {}) for row in rows if row["name"] == name), {})
    return made.get("pairs_per_s")


def best_rate(rows):
    """Pairs per second of 100 callers of the best peer that does what we do; None when there is none."""
    rates = [row["rows"]["callers"]["pairs_per_s"] for row in rows
             if row.get("is_redlock") and "pairs_per_s" in row.get("rows", {}).get("callers", {})]
    return max(rates, default=None)

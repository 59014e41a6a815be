"""etcd and ZooKeeper, three members each, for the peers that need them: children of this process like the nodes. They keep
their logs in the temporary folder, and so wait for its disk as they always do."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import time

from suite.nodes import free_port

MEMBERS = 3


class Cluster:
    """Starts the members and waits until each of them answers."""

    def __init__(self, peer_folder, folder):
        self.peer_folder, self.folder = peer_folder, pathlib.Path(folder) / self.name
        self.ports = [[free_port() for _ in range(self.ports_each)] for _ in range(MEMBERS)]
        self.processes = []
        try:
            for number in range(MEMBERS):
                self.start(number)
            for number in range(MEMBERS):
                self.wait(number)
        except BaseException:
            self.stop()
            raise

    def start(self, number):
        data = self.folder / str(number)
        data.mkdir(parents=True)
        self.processes.append(subprocess.Popen(
            self.command(number, data), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=data, start_new_session=True))

    def wait(self, number):
        for _ in range(600):
            with contextlib.suppress(OSError):
                with socket.create_connection(("127.0.0.1", self.ports[number][0]), 1) as link:
                    link.settimeout(1)
                    link.sendall(self.question)
                    if self.good_answer in link.recv(4096) + link.recv(4096):
                        return
            time.sleep(0.1)
        raise RuntimeError(f"{self.name} did not come up")

    def urls(self):
        return ",".join(f"127.0.0.1:{ports[0]}" for ports in self.ports)

    def freeze(self):
        self.processes[0].send_signal(signal.SIGSTOP)

    def thaw(self):
        self.processes[0].send_signal(signal.SIGCONT)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Etcd(Cluster):
    name, ports_each = "etcd", 2
    question, good_answer = b"GET /health HTTP/1.0\r\n\r\n", b"true"

    def command(self, number, data):
        client, peer = (f"http://127.0.0.1:{port}" for port in self.ports[number])
        members = ",".join(f"m{i}=http://127.0.0.1:{ports[1]}" for i, ports in enumerate(self.ports))
        return [self.peer_folder / "root/usr/bin/etcd", "--name", f"m{number}", "--data-dir", data / "data",
                "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", members, "--log-level", "error"]


class ZooKeeper(Cluster):
    name, ports_each = "zookeeper", 3
    question, good_answer = b"srvr", b"Mode:"

    def command(self, number, data):
        members = "\n".join(f"server.{i + 1}=127.0.0.1:{ports[1]}:{ports[2]}" for i, ports in enumerate(self.ports))
        (data / "myid").write_text(str(number + 1))
        (data / "zoo.cfg").write_text(
            f"tickTime=1000\ninitLimit=20\nsyncLimit=10\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            f"4lw.commands.whitelist=srvr\ndataDir={data}\nclientPort={self.ports[number][0]}\n{members}\n")
        return ["java", "-Xmx256m", "-cp", f"{self.peer_folder}/target/dependency/*",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", data / "zoo.cfg"]

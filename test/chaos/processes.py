"""Processes that end with the one that started them, and a machine within the machine for them: name spaces of their own
for network, mounts and process numbers, which the kernel takes away as a whole, whatever happens to us.
"""

import ctypes
import os
import shutil
import signal
import subprocess

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(words, **options):
    return subprocess.Popen([str(word) for word in words], preexec_fn=die_with_parent, **options)


def run(*words):
    """Runs a small command to its end; a failure is an error of ours."""
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def end(process):
    """Ends a process of ours, stopped or not."""
    process.kill()
    process.wait()


def unshare_words():
    """How to start a program in name spaces of its own; [] when this machine does not allow it."""
    if not all(shutil.which(tool) for tool in ("unshare", "nsenter", "ip", "mount")):
        return []
    words = ["unshare", *(["--user", "--map-root-user"] if os.getuid() else []),
             "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    probe = ("mount -t tmpfs none /run && mkdir /run/netns && ip netns add probe && "
             "ip link add probe type veth peer name eth0 netns probe && "
             "nsenter --net=/run/netns/probe ip link set eth0 up")
    good = subprocess.run([*words, "sh", "-c", probe], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return words if good.returncode == 0 else []

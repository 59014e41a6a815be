"""Runs a command on a terminal of its own, 120 columns wide: talk.py COMMAND THEN WORD...
A WORD that starts with ? is waited for, one that starts with ! is typed, one that starts with & is run as a command.
Prints all that was shown, and fails when something waited for did not come within 20 seconds. How the command itself ended
does not matter."""
import fcntl, os, pty, select, struct, subprocess, sys, termios, time
split = sys.argv.index("THEN")
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:split])
shown, seen, failed = b"", 0, False

def read(seconds):
    global shown
    if not select.select([terminal], [], [], seconds)[0]:
        return True
    try:
        part = os.read(terminal, 65536)
    except OSError:
        return False
    shown += part
    return bool(part)

for word in sys.argv[split + 1:]:
    text = word[1:].encode().decode("unicode_escape").encode("latin-1")
    if word[0] == "!":
        os.write(terminal, text)
    elif word[0] == "&":
        subprocess.run(["bash", "-c", word[1:]])
    else:
        text = word[1:].encode()
        deadline = time.monotonic() + 20
        while text not in shown[seen:] and time.monotonic() < deadline and read(0.2):
            pass
        if text not in shown[seen:]:
            failed = word
            break
        seen = shown.index(text, seen) + len(text)
if not failed:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and read(0.2):
        pass
sys.stdout.buffer.write(shown)
if failed:
    print("\nNEVER CAME:", failed)
    os.kill(pid, 9)
os.close(terminal)
os.waitpid(pid, 0)
sys.exit(1 if failed else 0)

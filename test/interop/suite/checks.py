"""How a behaviour says what it saw: it returns, or raises Failed with the words for the report. Nothing here knows locks."""

import time

PATIENCE_S = 60  # for a state that is bound to come, on a busy machine


class Failed(Exception):
    """Something was not as it should be; the words say what was seen."""


class Unavailable(Exception):
    """A server or a peer cannot be had here; the words say why, and what to do."""


def expect(what, seen, wanted):
    if seen != wanted:
        raise Failed(f"{what}: {seen!r} instead of {wanted!r}")


def expect_true(what, seen):
    if not seen:
        raise Failed(what)


def until(what, condition, seconds=PATIENCE_S):
    """Waits for a state and returns what the condition returned."""
    deadline = time.monotonic() + seconds
    while True:
        seen = condition()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise Failed(f"waited in vain: {what}")
        time.sleep(0.02)

"""What the tests of the Python package share: nodes, TAP and waiting are those of the service's tests. Not a test itself."""

import os
import pathlib
import sys

SOURCE = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(SOURCE / "test" / "serve"))
sys.path.insert(0, str(SOURCE / "python"))
os.environ.setdefault("LIBREDLOCK", str(pathlib.Path(os.environ["BUILD"]) / "src" / "libredlock.so.1"))

from lib import Fleet, equal, main, test, until, work  # noqa: E402,F401 - handed on


def raises(expected, call, *arguments, **named):
    """The exception of that kind that a call must end with."""
    try:
        call(*arguments, **named)
    except expected as problem:
        return problem
    raise AssertionError(f"{expected.__name__} was expected")


def add_one(path):
    """Reads, then writes: loses counts when two do it at once."""
    value = int(path.read_text())
    path.write_text(str(value + 1))

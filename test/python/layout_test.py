"""The structs that Python lays out are those of include/redlock.h, and every function it calls is there."""

import ctypes
import os
import subprocess

from nodes import SOURCE, equal, main, test, work

from libredlock import _library

MIRRORED = {"redlock_holder": _library.Holder, "redlock_report": _library.Report, "redlock_node_report": _library.NodeReport,
            "redlock_waiter": _library.Waiter, "redlock_options": _library.Options, "redlock_spec": _library.Spec,
            "redlock_name": _library.Name, "redlock_barrier_spec": _library.BarrierSpec, "redlock_slot": _library.Slot,
            "redlock_listed": _library.Listed, "redlock_list_spec": _library.ListSpec, "redlock_event": _library.Event,
            "redlock_break_spec": _library.BreakSpec,
            "redlock_histogram": _library.Histogram, "redlock_stats": _library.Stats}


def compiled_layout():
    """Name, offset and size of every member, as a C compiler lays them out."""
    lines = []
    for name, struct in MIRRORED.items():
        lines.append(f'printf("{name} %zu 0\\n", sizeof({name}));')
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    program = work / "layout.c"
    program.write_text("#include <redlock.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run(["cc", "-I", SOURCE / "include", program, "-o", work / "layout"], check=True)
    return subprocess.run([work / "layout"], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


@test
def structs_are_those_of_the_header():
    ours = []
    for name, struct in MIRRORED.items():
        ours.append(f"{name} {ctypes.sizeof(struct)} 0")
        ours += [f"{name}.{field} {getattr(struct, field).offset} {getattr(struct, field).size}" for field, _ in struct._fields_]
    equal(ours, compiled_layout(), "the layout is")


@test
def every_function_is_exported():
    exported = (SOURCE / "test" / "abi" / "exported-symbols").read_text().split()
    equal([name for name in _library.FUNCTIONS if name not in exported], [], "not exported:")


@test
def a_missing_library_is_named_with_its_remedy():
    done = subprocess.run(["python3", "-c", "import libredlock"], capture_output=True, text=True, check=False,
                          env={**os.environ, "LIBREDLOCK": "/nowhere/libredlock.so", "PYTHONPATH": str(SOURCE / "python")})
    equal((done.returncode != 0, "LIBREDLOCK" in done.stderr), (True, True), done.stderr)


main()

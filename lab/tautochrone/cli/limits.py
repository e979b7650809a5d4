"""Limits of the shell under which a library ends the process before Python hears of it.

Libraries that draw, write tables and do linear algebra abort, fault or exit where they get no memory. So
under such a limit a command runs in a child, and this process says why the child ended.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

_AMPLE_STACK_BYTES = 1 << 20
_FAULTS = {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
_KINDS = {"-v": resource.RLIMIT_AS, "-d": resource.RLIMIT_DATA, "-s": resource.RLIMIT_STACK}
GIVE_THE_TERMINAL = ("run", "exec", "emulate", "balance", "energy", "trace")
"""Commands that give the terminal to a program: that program is to be their own child."""


def limits() -> list[str]:
    """The limits that a library may meet, as the shell writes them: ["ulimit -v 300000"]."""
    found = []
    for option, kind in _KINDS.items():
        most, _ = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY and (option != "-s" or most < _AMPLE_STACK_BYTES):
            found.append(f"ulimit {option} {most // 1024}")
    return found


def supervised(work: Callable[[], int]) -> int:
    """Run `work` and return its exit code; 2, with a message, where a library ended it under a limit."""
    met = limits()
    if not met or next(iter(sys.argv[1:]), "") in GIVE_THE_TERMINAL:
        return work()
    from tautochrone.children import end_with_parent  # not where there is no limit: ctypes takes its time

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        end_with_parent(signal.SIGTERM)
        code = work()
        os.write(writing, b".")
        return code
    os.close(writing)
    for number in (signal.SIGINT, signal.SIGQUIT):  # the terminal sends them to the child too
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    return _code(status, bool(os.read(reading, 1)), met)


def _code(status: int, ended_in_order: bool, met: list[str]) -> int:
    code = os.waitstatus_to_exitcode(status)
    if ended_in_order and code >= 0:
        return code
    if code < 0 and -code not in _FAULTS:  # from outside: as if there were no child
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    raised = " and ".join(f"{' '.join(one.split()[:2])} unlimited" for one in met)
    with suppress(OSError):
        print(
            f"tauto: error: a library ended the process ({how}), probably for want of memory under "
            f"{' and '.join(met)}. Raise the limit: {raised}",
            file=sys.stderr,
            flush=True,
        )
    return 2

"""Threads beside the main one; where memory fails in a new one, Python's ``Thread.start`` waits for ever."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable

from tautochrone.errors import TautoError

# Short looks: a process that was stopped meanwhile has lost one of them, and not the whole wait.
_LOOKS, _LOOK_SECONDS = 10, 1.0


def started(work: Callable[[], None]) -> threading.Event:
    """Do the work in a thread that has begun when this returns, and ends with this process at the latest.

    The event is set when the work has ended. TautoError where the system gives no thread, or one that has not
    begun after some ten seconds; it does nothing then.
    """
    begun, ended, given_up = threading.Event(), threading.Event(), threading.Event()

    def do() -> None:
        begun.set()
        try:
            if not given_up.is_set():
                work()
        finally:
            ended.set()

    try:
        start_new_thread(do, ())
    except RuntimeError as error:
        raise _refusal(str(error)) from error
    if not any(begun.wait(_LOOK_SECONDS) for _ in range(_LOOKS)):
        given_up.set()
        raise _refusal(f"it did not begin within {_LOOKS * _LOOK_SECONDS:.0f} s")
    return ended


def _refusal(why: str) -> TautoError:
    return TautoError(
        f"no thread could be started: {why}", "Look whether memory or processes ran out (free, ulimit -u)"
    )

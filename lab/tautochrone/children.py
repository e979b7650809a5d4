"""Child processes that must not outlive this one."""

from __future__ import annotations

import ctypes
import signal

_SET_PARENT_DEATH_SIGNAL = 1


def end_with_parent(number: signal.Signals) -> None:
    """In a child: have the system send it this signal when its parent ends."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, number, 0, 0, 0)

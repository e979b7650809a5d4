"""What a starter of programs leaves at work when it is killed: the children of the program that it ran.

The program itself ends with its starter, by the kernel; its own children do not.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from tautochrone.measuring.inside import control_group, observing


def end_what_is_left(starter: int) -> None:
    """End what a starter that is no more has begun: in its control groups, and in the session that it had."""
    control_group.Groups(control_group.folder_here())  # ends those of processes that are no more
    for pid in observing.session(starter):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

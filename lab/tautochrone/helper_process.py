"""Processes that help this one, and end when their input does."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Any

_ENDING_SECONDS = 5.0


def let_end(process: subprocess.Popen[Any], patience_seconds: float) -> None:
    """Close its input, which tells it to end, and wait; end it when the patience is over.

    It is asked to end before it is killed: srun then takes its job back, which a killed one would leave.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    process.stdout.close()

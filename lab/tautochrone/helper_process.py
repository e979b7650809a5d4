"""Processes that help this one, and end when their input does."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Any


def let_end(process: subprocess.Popen[Any], patience_seconds: float) -> None:
    """Close its input, which tells it to end, and wait; kill it when the patience is over."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()

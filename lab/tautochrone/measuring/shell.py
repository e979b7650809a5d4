"""Run a user's line by /bin/sh beside the measuring: a check, or what prepares a run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tautochrone.errors import printable


def refusal(
    line: str,
    what: str,
    *,
    folder: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    reads: IO[bytes] | None = None,
    limit_seconds: float | None = None,
) -> str:
    """Why the line failed, with the last line that it printed; empty where it did not. `what` names it."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            stdin=reads or subprocess.DEVNULL,
            capture_output=True,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            timeout=limit_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{what} did not end within {limit_seconds:g} s"
    if done.returncode == 0:
        return ""
    printed = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return f"{what} ended with exit code {done.returncode}{': ' + printable(printed[-1]) if printed else ''}"

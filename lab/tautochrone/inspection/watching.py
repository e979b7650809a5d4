"""Run a command once and see what its files do not show: what it loads, how it ends, what it leaves."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.subprocess_executor import ProgramExecutor


@dataclass(frozen=True)
class Watched:
    """One run. `left_running` names the processes that outlived the command (and were ended then)."""

    exit_code: int
    seconds: float
    stopped: bool
    output: str
    errors: str
    files: frozenset[str]  # mapped into the command or its children
    most_threads: int
    left_running: tuple[str, ...] = ()
    peak_bytes: int = 0  # of all its processes at a time, as far as it was sampled
    beside_seconds: float = 0.0  # to copy its folder and check its output


def watch(
    command: Sequence[str],
    time_limit_seconds: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output_file: Path | None = None,
    *,
    through: Sequence[str] = (),
    runs_here: bool = True,
) -> Watched:
    """Run without terminal and input, and sample it. TautoError where it cannot start.

    All output goes to `output_file`, if there is one; `Watched` has the end of it. That and the temporary
    `folder` to run in are removed if this process is killed. `through`, `runs_here`: see `ProgramExecutor`.
    """
    with closing(ProgramExecutor(runs_here=runs_here, through=through, observe="files")) as executor:
        asked = Configuration("watched", list(command), environment or {})
        answer = executor.answer(asked, time_limit_seconds, folder, output_file, (folder, output_file))
    if answer.start_error is not None:
        remedy = "Write the command as the shell would find it"
        if answer.start_error == errno.ENOEXEC:
            remedy = (
                "Let its first line name what reads it, as #!/bin/sh does, or start it with that: sh FILE"
            )
        if not runs_here:
            remedy = "Nodes need the same files: put the program where all of them see it"
        raise TautoError(f"{command[0]} cannot be started: {os.strerror(answer.start_error)}", remedy)
    seen = answer.observed
    assert seen is not None
    stopped = answer.stopped_for is not None
    return Watched(
        exit_code=answer.exit_code,
        seconds=answer.elapsed_seconds,
        stopped=stopped,
        output=answer.stdout,
        errors=answer.stderr,
        files=seen.files,
        most_threads=seen.most_threads,
        left_running=answer.left_running,
        peak_bytes=seen.memory_bytes or 0,
    )

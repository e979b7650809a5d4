"""The first run of a command, before anything is tuned: whether it can be tuned at all, and what it loads."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import stat
import termios
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.inspection.watching import Watched, watch
from tautochrone.subprocess_executor import Printed, output_file
from tautochrone.tune.applying import Applied
from tautochrone.tune.judging import Judging
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.search import round_seconds_at_first
from tautochrone.tune.spreading import runs_elsewhere, scratch_of

SHORTEST_SECONDS = 0.005
_WINDOW_SECONDS = 0.1
_LEAST_ROUNDS = 2
_MOST_FILES = 10_000
_TERMINAL = re.compile(
    r"not a (?:tty|terminal)|no such device or address|/dev/tty|error opening terminal|"
    r"inappropriate ioctl|TERM environment variable|stdin is not|requires a terminal|"
    r"failed tty get|is not (?:to|from) a terminal",
    re.IGNORECASE,
)


def try_out(made: Applied, request: TuneRequest, judging: Judging) -> Watched:
    """Run the default once and watch it. TautoError for a program that cannot be tuned, and how it could."""
    limit = request.time_limit_seconds or max(request.budget_seconds, 1.0)
    before = _files_here(request)
    with ExitStack() as stack:
        begun = time.monotonic()
        folder = stack.enter_context(scratch_of(request)()) if request.scratch else None
        copied = time.monotonic()
        elsewhere = runs_elsewhere(request)
        results = request.folder if elsewhere else None
        whole = stack.enter_context(output_file(results)) if judging.needs_whole_output else None
        watched = watch(
            made.command,
            limit,
            made.environment,
            folder,
            whole,
            through=request.launcher,
            runs_here=not elsewhere,
        )
        words = shlex.join(request.command)
        _refuse_failure(watched, words, limit)
        _refuse_daemon(watched, words)
        ended = time.monotonic()
        _refuse_answer(watched, judging, whole, folder)
        watched = replace(watched, beside_seconds=copied - begun + time.monotonic() - ended)
    if watched.seconds < SHORTEST_SECONDS and request.repeat == 1:
        times = max(2, round(_WINDOW_SECONDS / max(watched.seconds, 1e-4)))
        raise TautoError(
            f"{words} ends after {1000 * watched.seconds:.2g} ms: "
            f"below {1000 * SHORTEST_SECONDS:.0f} ms the start of the process is most of what is measured",
            f"Give it more work, or let it run {times} times in one window: --repeat {times}",
        )
    if not request.scratch:
        _refuse_same_file(request, before, words)
    return watched


def input_is_lost(descriptor: int = 0) -> bool:
    """Whether somebody gives us a file or what another program prints, which no run will read."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    if not stat.S_ISFIFO(mode):
        return stat.S_ISREG(mode)
    waiting = bytearray(4)  # how many bytes
    fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return any(waiting)


def check_budget(request: TuneRequest, watched: Watched, candidates: int) -> None:
    """TautoError where the budget does not hold two rounds of all candidates."""
    one_run = watched.seconds * request.repeat + watched.beside_seconds
    one_round = round_seconds_at_first(one_run, candidates)
    if _LEAST_ROUNDS * one_round > request.budget_seconds:
        most = int(request.budget_seconds / round_seconds_at_first(one_run, 1) / _LEAST_ROUNDS)
        fewer = f", or try fewer: --candidates {most}" if most >= 2 else ", or give the program less work"
        raise TautoError(
            f"a budget of {request.budget_seconds:g} s is too small for {_LEAST_ROUNDS} rounds of "
            f"{candidates} candidates, of which one round takes about {one_round:.3g} s",
            f"Add --budget {_budget(4 * one_round)}{fewer}",
        )


def _budget(seconds: float) -> str:
    return f"{max(1, round(seconds))}s" if seconds < 120 else f"{round(seconds / 60) + 1}m"


def _refuse_failure(watched: Watched, words: str, limit: float) -> None:
    said = [line.strip() for line in watched.errors.splitlines() if line.strip()]
    end = f": {'; '.join(said[-2:])}" if said else ""
    if watched.stopped:
        raise TautoError(
            f"{words} did not end within {limit:g} s{end}",
            "Give it less work, or more time with --time-limit and --budget",
        )
    if watched.exit_code == 0:
        return
    if _TERMINAL.search(watched.errors) or _TERMINAL.search(watched.output):
        raise TautoError(
            f"{words} needs a terminal, and runs here have none{end}",
            "Use its batch mode, or wrap it: script -qec 'COMMAND' /dev/null",
        )
    how = f"exit code {watched.exit_code}" if watched.exit_code > 0 else f"signal {-watched.exit_code}"
    raise TautoError(
        f"{words} fails as it is, with {how}{end}", "Put that right first: only what works can be tuned"
    )


def _refuse_daemon(watched: Watched, words: str) -> None:
    if watched.left_running:
        names = ", ".join(dict.fromkeys(watched.left_running))
        raise TautoError(
            f"{words} goes on in the background after its command has ended (left: {names}), "
            "so its time cannot be taken",
            "Use its option to stay in the foreground",
        )


def _refuse_answer(watched: Watched, judging: Judging, whole: Path | None, folder: Path | None) -> None:
    _, error = judging(Printed(watched.output, watched.errors, whole), folder)
    if error is None:
        return
    if error.kind == "failed":
        raise TautoError(
            f"{error.message} in its default run",
            "Look at what it prints on standard output and standard error, and put the number in brackets: "
            "'regex:time: ([0-9.]+)'",
        )
    raise TautoError(f"the default run does not pass --check: {error.message}", "Put the check right first")


def _files_here(request: TuneRequest) -> dict[str, tuple[int, int]]:
    """The files in this folder and those below it, but our own; the nearest `_MOST_FILES` of them."""
    found: dict[str, tuple[int, int]] = {}
    ours = {os.path.abspath("tautochrone-results"), os.path.abspath(request.folder)}  # noqa: PTH100
    waiting = ["."]
    while waiting and len(found) < _MOST_FILES:
        with suppress(OSError), os.scandir(waiting.pop(0)) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    if os.path.abspath(one.path) not in ours:  # noqa: PTH100
                        waiting.append(one.path)
                elif one.is_file():
                    status = one.stat()
                    found[one.path.removeprefix("./")] = (status.st_mtime_ns, status.st_size)
    return found


def _refuse_same_file(request: TuneRequest, before: dict[str, tuple[int, int]], words: str) -> None:
    """Runs that write to one file read what the run before has left there."""
    after = _files_here(request)
    written = sorted(one for one, state in after.items() if state != before.get(one))
    if len(before) >= _MOST_FILES:  # of so many, others may have been looked at
        written = [one for one in written if one in before or "/" not in one]
    if written:
        raise TautoError(
            f"{words} writes {', '.join(written[:3])} in this folder, the same in each run",
            "Add --scratch: each run then has a folder of its own; or let it write to /dev/null",
        )


def summary(watched: Watched, request: TuneRequest) -> str:
    """What the trial said, in a sentence."""
    threads = f", with up to {watched.most_threads} threads" if watched.most_threads > 1 else ""
    return f"{shlex.join(request.command)} takes {watched.seconds:.3g} s as it is{threads}"

"""Slows some CPUs of this machine for all programs, so that equal cores behave as unequal ones.

The work is done by ``tauto-emulate``. For one command, put :func:`wrap` around it. For many short runs, hold
one emulation around all of them, since each calibration takes a second::

    with emulated({1: 4.0}) as slow:
        run()           # CPU 1 is four times slower
        slow.pause()
        run()           # all CPUs run at full speed
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NotRequired, TypedDict

from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.measuring.subprocess_executor import pipes
from tautochrone.options import LARGEST_FACTOR, Option, Words

VARIABLE: Final = "TAUTO_EMULATED"
# Calibration takes up to 1.3 s a period, four are tried, and another emulator may hold the CPU for 5 s.
READY_LIMIT_SECONDS: Final = 30.0
ANSWER_LIMIT_SECONDS: Final = 15.0


def slow_text(slow: Mapping[int, float]) -> str:
    """``{1: 4.0}`` → ``"1:4"``, as --slow and TAUTO_EMULATED have it.

    Raises TautoError for impossible factors.
    """
    for cpu, factor in slow.items():
        if not 1.0 <= factor <= LARGEST_FACTOR:
            raise TautoError(
                f"CPU {cpu} cannot be made {factor:g} times slower",
                f"Ask for a factor from 1 to {LARGEST_FACTOR:g}",
            )
    return ",".join(f"{cpu}:{factor:.12g}" for cpu, factor in sorted(slow.items()))


def available() -> tuple[bool, str]:
    """Whether CPUs can be slowed here; if not, the reason and the remedy in one sentence."""
    try:
        finished = runners.asked(runners.find("tauto-emulate"), "--check")
    except TautoError as missing:
        return False, str(missing)
    try:
        answer = json.loads(finished.stdout)
        return bool(answer["available"]), answer["reason"] or ""
    except (ValueError, KeyError):
        return False, str(_error_of(finished.stderr, finished.returncode))


def wrap(command: Sequence[str], slow: Mapping[int, float]) -> list[str]:
    """The command line that runs ``command`` while CPUs are slow; without CPUs, ``command`` itself.

    Raises TautoError for impossible factors, and if tauto-emulate is missing.
    """
    text = slow_text(slow)
    return [str(runners.find("tauto-emulate")), "--slow", text, "--", *command] if text else list(command)


@dataclass(frozen=True, kw_only=True)
class EmulateRequest:
    """Run a command while some CPUs are made slower.

    So equal cores can stand in for unequal ones.

    \b
    Examples:
      tauto emulate --slow 1:4 -- ./solver case.in
      tauto emulate --slow 2:2,3:2 -- make -j4 test
    """  # noqa: D301

    command: Annotated[tuple[str, ...], Words("What to run meanwhile.")]
    slow: Annotated[str, Option("CPUs to slow, and how many times slower.", "CPU:FACTOR,…")]

    def run(self) -> int:
        """Run the command on slow CPUs and return its exit status (128 + signal).

        ``slow`` may have time windows. A Ctrl-C is the command's business; the emulator passes it on.
        """
        emulator = str(runners.find("tauto-emulate"))
        process = subprocess.Popen([emulator, "--slow", self.slow, "--", *self.command])
        while True:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                continue
            return status if status >= 0 else 128 - status


class Slowed(TypedDict):
    """What is read here of a slowed CPU in a report."""

    cpu: int
    factor_calibrated: float
    reading_factor: float
    period_seconds: float


class Report(TypedDict):
    """An answer of tauto-emulate (schema tautochrone.emulation/1)."""

    slow: list[Slowed]
    warnings: list[str]
    error: NotRequired[str]


class Emulation:
    """A held emulation; made by :func:`emulated`. Its methods may be called from any thread."""

    def __init__(self, slow: Mapping[int, float]) -> None:
        """Calibrate and slow the CPUs; takes about a second. Raises TautoError if that is impossible."""
        self.slow: Final = dict(slow)
        self._lock = threading.Lock()
        self._unread = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._last: Report = {"slow": [], "warnings": []}
        text = slow_text(slow)
        if not text:
            return
        self._process = process = subprocess.Popen(
            [str(runners.find("tauto-emulate")), "--hold", "--slow", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C is ours to handle: what is being measured ends first
            env={name: value for name, value in os.environ.items() if name != VARIABLE},
        )
        try:
            self._last = self._answer(process, READY_LIMIT_SECONDS)
        except BaseException:
            self.close()
            raise

    @property
    def factors(self) -> dict[int, float]:
        """CPU → the factor that calibration reached, within 5 % of the requested one."""
        return {entry["cpu"]: entry["factor_calibrated"] for entry in self._last["slow"]}

    @property
    def reading_factors(self) -> dict[int, float]:
        """CPU → how many times slower it reads from behind its L2 cache, as calibration has seen."""
        return {entry["cpu"]: entry["reading_factor"] for entry in self._last["slow"]}

    @property
    def turns(self) -> dict[int, float]:
        """CPU → the length of a turn in seconds: the slowing thread ("thief") runs, then everything else."""
        return {entry["cpu"]: entry["period_seconds"] for entry in self._last["slow"]}

    def pause(self) -> None:
        """When this returns, the CPUs run at full speed."""
        self._say("pause")

    def resume(self) -> None:
        """When this returns, the CPUs are slow again."""
        self._say("resume")

    def report(self) -> Report:
        """The factor that each CPU really had so far (schema tautochrone.emulation/1)."""
        self._say("report")
        return self._last

    def close(self) -> None:
        """End the emulation. Has no effect if it has already ended."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return
            try:  # communicate() closes its input first, and that is what ends it
                rest, _ = process.communicate(timeout=ANSWER_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                rest, _ = process.communicate()
            for line in (self._unread + rest).splitlines():
                with contextlib.suppress(ValueError):
                    self._last = json.loads(line)

    def _say(self, word: str) -> None:
        with self._lock:
            if self._process is None:
                if self.slow:
                    raise TautoError("the emulation has ended", "Open a new one")
                return
            words, _ = pipes(self._process)
            try:
                words.write(word.encode() + b"\n")
                words.flush()
            except BrokenPipeError:
                raise _ended(self._process) from None
            self._last = self._answer(self._process, ANSWER_LIMIT_SECONDS)

    def _answer(self, process: subprocess.Popen[bytes], limit_seconds: float) -> Report:
        """The next JSON line from tauto-emulate."""
        _, answers = pipes(process)
        descriptor = answers.fileno()
        deadline = time.monotonic() + limit_seconds
        while b"\n" not in self._unread:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([descriptor], [], [], left)[0]:
                raise TautoError(
                    f"tauto-emulate did not answer within {limit_seconds:g} seconds",
                    "See whether the machine is overloaded, and try again",
                )
            got = os.read(descriptor, 1 << 16)
            if not got:
                raise _ended(process)
            self._unread += got
        line, self._unread = self._unread.split(b"\n", 1)
        answer: Report = json.loads(line)
        if "error" in answer:
            raise TautoError.of(answer["error"])
        return answer


def _ended(process: subprocess.Popen[bytes]) -> TautoError:
    _, messages = process.communicate()
    return _error_of(messages.decode(errors="replace"), process.returncode)


def _error_of(messages: str, status: int) -> TautoError:
    lines = [line for line in messages.splitlines() if line.startswith("tauto-emulate: error: ")]
    if not lines:
        return TautoError(f"tauto-emulate ended with status {status}", "Start it by hand to see why")
    return TautoError.of(lines[-1].removeprefix("tauto-emulate: error: "))


@contextlib.contextmanager
def emulated(slow: Mapping[int, float]) -> Iterator[Emulation]:
    """Keep CPUs slow during the block, with one calibration at its start (about a second).

    ``slow``: CPU → factor; if it is empty, nothing is slowed and pause and resume have no effect. Raises
    TautoError without permission for SCHED_FIFO, for CPUs that do not exist, and for factors that cannot be
    reached. However this process ends, the CPUs return to full speed.
    """
    emulation = Emulation(slow)
    try:
        yield emulation
    finally:
        emulation.close()

"""Some CPUs of this machine made slower for everyone, so that equal cores can stand in for unequal ones.

The work is done by ``tauto-emulate``. For one command, put :func:`wrap` around it. For many short runs, hold
one emulation around all of them, since each calibration takes a second::

    with emulated({1: 4.0}) as slow:
        run()           # CPU 1 is four times slower
        slow.pause()
        run()           # all CPUs are as they are
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tautochrone import runners
from tautochrone.errors import TautoError

LARGEST_FACTOR: Final = 32.0
VARIABLE: Final = "TAUTO_EMULATED"
# Calibration takes up to 1.3 s a period, four are tried, and another emulator may hold the CPU for 5 s.
READY_LIMIT_SECONDS: Final = 30.0
ANSWER_LIMIT_SECONDS: Final = 15.0
_USAGE: Final = "Write CPU:FACTOR, for example 1:4, with commas between several"
_ENTRY: Final = re.compile(r"(?P<cpu>\d+):(?P<factor>[^:@]+)(?P<windows>@.*)?", re.ASCII)


def parse_slow(text: str) -> dict[int, float]:
    """Read ``"1:4,3:2"`` as CPU → factor, each from 1 (as it is) to 32 times slower.

    Raises TautoError for anything else, and for the time windows (``1:4@3-6``) that only tauto-emulate takes.
    """
    slow: dict[int, float] = {}
    for entry in text.split(","):
        cpu, factor = _parse_entry(entry)
        if cpu in slow:
            raise TautoError(f"CPU {cpu} is listed twice in {text!r}", "List each CPU once")
        slow[cpu] = factor
    return slow


def _parse_entry(entry: str) -> tuple[int, float]:
    parts = _ENTRY.fullmatch(entry.strip())
    if parts is None:
        raise TautoError(f"cannot read {entry!r} as a slow CPU", _USAGE)
    if parts["windows"]:
        raise TautoError(f"{entry!r} has a time window", "Give it to tauto-emulate itself, or leave it out")
    try:
        factor = float(parts["factor"])
    except ValueError:
        factor = math.nan
    return int(parts["cpu"]), _checked_factor(factor, f"{entry!r} asks for factor {parts['factor']}")


def _checked_factor(factor: float, asked: str) -> float:
    if not math.isfinite(factor):
        raise TautoError(f"{asked}, which is not a number", _USAGE)
    if factor < 1.0:
        raise TautoError(
            f"{asked}, but a CPU can only be made slower", f"Ask for a factor from 1 to {LARGEST_FACTOR:g}"
        )
    if factor > LARGEST_FACTOR:
        raise TautoError(
            f"{asked}, the limit is {LARGEST_FACTOR:g}",
            "Ask for less, or leave the CPU out of the program's CPUs",
        )
    return factor


def slow_text(slow: Mapping[int, float]) -> str:
    """``{1: 4.0}`` → ``"1:4"``, as --slow and TAUTO_EMULATED have it.

    Raises TautoError for impossible factors.
    """
    checked = {
        cpu: _checked_factor(factor, f"CPU {cpu} is asked to have factor {factor:g}")
        for cpu, factor in slow.items()
    }
    return ",".join(f"{cpu}:{factor:.12g}" for cpu, factor in sorted(checked.items()))


def available() -> tuple[bool, str]:
    """Whether CPUs can be slowed here; where not, the reason and the remedy in one sentence."""
    try:
        executable = runners.find("tauto-emulate")
    except TautoError as missing:
        return False, str(missing)
    finished = subprocess.run(
        [str(executable), "--check"],
        capture_output=True,
        text=True,
        timeout=ANSWER_LIMIT_SECONDS,
        check=False,
    )
    try:
        answer = json.loads(finished.stdout)
        return bool(answer["available"]), answer["reason"] or ""
    except (ValueError, KeyError):
        return False, str(_error_of(finished.stderr, finished.returncode))


def wrap(command: Sequence[str], slow: Mapping[int, float] | str) -> list[str]:
    """The command line that runs ``command`` while CPUs are slow. No CPU: the command as it is.

    Raises TautoError for impossible factors and where tauto-emulate is missing.
    """
    text = slow if isinstance(slow, str) else slow_text(slow)
    if not text:
        return list(command)
    return [str(runners.find("tauto-emulate")), "--slow", text, "--", *command]


def run_emulate_command(slow: str, command: list[str]) -> int:
    """What ``tauto emulate`` does: run a command on slow CPUs and give its exit status (128 + signal).

    ``slow`` may have time windows. A Ctrl-C is the command's business; the emulator passes it on.
    """
    process = subprocess.Popen([str(runners.find("tauto-emulate")), "--slow", slow, "--", *command])
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue
        return status if status >= 0 else 128 - status


class Emulation:
    """A held emulation; made by :func:`emulated`. Its methods may be called from any thread."""

    def __init__(self, slow: Mapping[int, float]) -> None:
        """Calibrate and slow the CPUs; takes about a second. Raises TautoError where that cannot be done."""
        self.slow: Final = dict(slow)
        self._lock = threading.Lock()
        self._unread = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._last: dict[str, Any] = {"slow": [], "warnings": []}
        text = slow_text(slow)
        if not text:
            return
        self._process = subprocess.Popen(
            [str(runners.find("tauto-emulate")), "--hold", "--slow", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C is ours to handle: what is being measured ends first
            env={name: value for name, value in os.environ.items() if name != VARIABLE},
        )
        try:
            self._last = self._answer(READY_LIMIT_SECONDS)
        except BaseException:
            self.close()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """What a program on the slow CPUs is to find in its environment."""
        text = slow_text(self.slow)
        return {VARIABLE: text} if text else {}

    @property
    def factors(self) -> dict[int, float]:
        """CPU → the factor that calibration reached, within 5 % of the one asked."""
        return {entry["cpu"]: entry["factor_calibrated"] for entry in self._last["slow"]}

    @property
    def turns(self) -> dict[int, float]:
        """CPU → how long a turn of its thief and of everybody else takes together, in seconds."""
        return {entry["cpu"]: entry["period_seconds"] for entry in self._last["slow"]}

    @property
    def last_report(self) -> dict[str, Any]:
        """The newest report (schema tautochrone.emulation/1); after the end, the one of the whole time."""
        return self._last

    def pause(self) -> None:
        """The CPUs are as they are, once this returns."""
        self._say("pause")

    def resume(self) -> None:
        """The CPUs are slow again, once this returns."""
        self._say("resume")

    def report(self) -> dict[str, Any]:
        """What each CPU is really like so far (schema tautochrone.emulation/1)."""
        self._say("report")
        return self._last

    def close(self) -> None:
        """End it. Nothing happens when it has ended already."""
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
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(word.encode() + b"\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                raise self._ended() from None
            self._last = self._answer(ANSWER_LIMIT_SECONDS)

    def _answer(self, limit_seconds: float) -> dict[str, Any]:
        """The next JSON line from tauto-emulate."""
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
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
                raise self._ended()
            self._unread += got
        line, self._unread = self._unread.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise _as_error(answer["error"])
        return answer

    def _ended(self) -> TautoError:
        assert self._process is not None
        _, said = self._process.communicate()
        return _error_of(said.decode(errors="replace"), self._process.returncode)


def _error_of(said: str, status: int) -> TautoError:
    lines = [line for line in said.splitlines() if line.startswith("tauto-emulate: error: ")]
    if not lines:
        return TautoError(f"tauto-emulate ended with status {status}", "Start it by hand to see why")
    return _as_error(lines[-1].removeprefix("tauto-emulate: error: "))


def _as_error(sentence: str) -> TautoError:
    """The executables put the remedy behind the first semicolon."""
    message, _, remedy = sentence.partition("; ")
    return TautoError(message, remedy[:1].upper() + remedy[1:])


@contextlib.contextmanager
def emulated(slow: Mapping[int, float] | str) -> Iterator[Emulation]:
    """Hold CPUs slow for the time of the block, with one calibration at its start (about a second).

    ``slow``: CPU → factor, or its text (``"1:4"``); empty: nothing is slowed and pause and resume do nothing.
    Raises TautoError without the right to SCHED_FIFO, for CPUs that are not there, and for factors that
    cannot be met. However this process ends, the CPUs are free again.
    """
    if isinstance(slow, str):
        slow = parse_slow(slow) if slow else {}
    emulation = Emulation(slow)
    try:
        yield emulation
    finally:
        emulation.close()

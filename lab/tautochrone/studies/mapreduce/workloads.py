"""So many tasks of one length, and how many bytes a task must hash to take that long here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.word_lists import words_of

LARGEST_TASKS = 1_000_000
LARGEST_BYTES = 1_000_000_000  # of one task: about a second
_BYTES = {"B": 1, "kB": 1000, "MB": 1_000_000}
_IN_A_SECOND = {"us": 1e6, "µs": 1e6, "ms": 1e3}
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)  # preferred numbers, ISO 3 series R10


@dataclass(frozen=True, slots=True)
class Workload:
    """``tasks`` tasks, each of so many bytes or of so many seconds; the other is None."""

    tasks: int
    bytes: int | None = None
    seconds: float | None = None

    @property
    def length(self) -> str:
        """The length as it was asked for: "400 kB", "10 µs"."""
        if self.seconds is not None:
            unit = "µs" if self.seconds < 1e-3 else "ms"
            return f"{self.seconds * _IN_A_SECOND[unit]:g} {unit}"
        assert self.bytes is not None
        unit, size = next((unit, size) for unit, size in reversed(_BYTES.items()) if self._in(unit, size))
        return f"{self.bytes / size:g} {unit}"

    def _in(self, unit: str, size: int) -> bool:
        """Whether a unit suits: the published 1000 and 3000 kB stay so."""
        assert self.bytes is not None
        return unit == "B" or (self.bytes >= size and (unit == "kB" or self.bytes >= 10 * size))

    @property
    def name(self) -> str:
        """For people: "50 × 400 kB"."""
        return f"{self.tasks} × {self.length}"


@dataclass(frozen=True, slots=True)
class SizedWorkload:
    """A workload whose tasks are known in bytes; ``task_seconds`` is the guess from the probe."""

    workload: Workload
    bytes: int
    task_seconds: float

    @property
    def tasks(self) -> int:
        """How many tasks a repetition has."""
        return self.workload.tasks

    @property
    def name(self) -> str:
        """For people."""
        return self.workload.name

    @property
    def serial_seconds(self) -> float:
        """About how long one repetition takes on one thread."""
        return self.tasks * self.task_seconds


PUBLISHED = tuple(Workload(50, bytes=kilobytes * 1000) for kilobytes in (400, 1000, 3000))
SHORT = tuple(Workload(tasks, seconds=us / 1e6) for tasks in (50, 500) for us in (1, 10, 100))
QUICK = (*SHORT[:3], PUBLISHED[0])


def parse_workloads(text: str) -> tuple[Workload, ...]:
    """``"50x400kB,500x10us"`` → the workloads. Raises TautoError for what is none."""
    return tuple(dict.fromkeys(_parse(word) for word in words_of(text, "--tasks")))


def _parse(word: str) -> Workload:
    match = re.fullmatch(r"([0-9]{1,9})[x×]([0-9]+(?:\.[0-9]+)?)(B|kB|MB|us|µs|ms)", word)
    if match is None:
        raise TautoError(
            f"{word!r} is not NxLENGTH",
            "Write 50x400kB for 50 tasks of 400 kB, 500x10us for 500 tasks of 10 µs (B, kB, MB, us, ms)",
        )
    tasks, amount, unit = int(match.group(1)), float(match.group(2)), match.group(3)
    if not 1 <= tasks <= LARGEST_TASKS:
        raise TautoError(f"{word!r} asks for {tasks} tasks", f"Ask for 1 to {LARGEST_TASKS}")
    if unit in _IN_A_SECOND:
        seconds = amount / _IN_A_SECOND[unit]
        if not 1e-7 <= seconds <= 1.0:
            raise TautoError(f"a task of {word!r} is too short or too long", "A task takes 0.1us to 1000ms")
        return Workload(tasks, seconds=seconds)
    size = round(amount * _BYTES[unit])
    if not 1 <= size <= LARGEST_BYTES:
        raise TautoError(f"a task of {word!r} has {size} bytes", "A task has 1B to 1000MB")
    return Workload(tasks, bytes=size)


def sized(workload: Workload, seconds_per_byte: float) -> SizedWorkload:
    """The workload in bytes, from how long one byte takes here.

    Lengths in seconds are rounded to preferred numbers (steps of a quarter), so that two sessions whose
    probes differ by some per cent measure the same work and can be compared.
    """
    size = workload.bytes
    if size is None:
        assert workload.seconds is not None
        size = max(1, round(preferred(workload.seconds / seconds_per_byte)))
    return SizedWorkload(workload, size, size * seconds_per_byte)


def preferred(value: float) -> float:
    """The nearest preferred number: 963 → 1000, 1180 → 1250."""
    exponent = math.floor(math.log10(value))
    candidates = [step * 10.0**power for power in (exponent, exponent + 1) for step in _STEPS]
    return min(candidates, key=lambda one: abs(math.log(one / value)))


def sized_all(workloads: tuple[Workload, ...], seconds_per_byte: float) -> tuple[SizedWorkload, ...]:
    """All in bytes, without repeats: two lengths may round to the same bytes."""
    found: Mapping[tuple[int, int], SizedWorkload] = {
        (one.tasks, one.bytes): one for one in (sized(each, seconds_per_byte) for each in reversed(workloads))
    }
    return tuple(sorted(found.values(), key=lambda one: (one.tasks, one.bytes)))

"""Time as an argument: the system's clock, and one that tests move by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What the measuring core needs to know of time."""

    def now(self) -> datetime:
        """The date and time, with zone UTC."""

    def monotonic(self) -> float:
        """Seconds since a fixed moment; never goes back."""


class SystemClock:
    """The clock of this computer."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class VirtualClock:
    """A clock that stands still until `advance` moves it: tests of timing need no sleep."""

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start if start is not None else datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed_seconds = 0.0

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_seconds)

    def monotonic(self) -> float:
        return self._elapsed_seconds

    def advance(self, seconds: float) -> None:
        """Move time on. Time never goes back: `seconds` must not be negative."""
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        self._elapsed_seconds += seconds

"""The methods of :class:`~tautochrone.parallel.team.Team` as functions, on one team of this process."""

from __future__ import annotations

import threading
from typing import Any

from tautochrone.parallel.team import Team

_lock = threading.Lock()
_team: Team | None = None


def team() -> Team:
    """The team of the functions, made at the first call."""
    global _team
    if _team is None:
        with _lock:
            if _team is None:
                _team = Team(pin=False)
    return _team


def sort(values: Any) -> None:
    team().sort(values)


def sum(values: Any) -> Any:
    return team().sum(values)


def exact_sum(values: Any) -> float:
    return team().exact_sum(values)


def inclusive_scan(values: Any, out: Any = None) -> Any:
    return team().inclusive_scan(values, out)


def exclusive_scan(values: Any, init: float = 0, out: Any = None) -> Any:
    return team().exclusive_scan(values, init, out)


def argmin(values: Any) -> int:
    return team().argmin(values)


def argmax(values: Any) -> int:
    return team().argmax(values)


def histogram(values: Any, bins: int, low: float | None = None, high: float | None = None) -> Any:
    return team().histogram(values, bins, low, high)


def parallel_for(first: int, last: int, body: Any, context: Any = None, **options: Any) -> None:
    team().parallel_for(first, last, body, context, **options)


def reduce(first: int, last: int, map: Any, combine: Any = None, **options: Any) -> float:
    return team().reduce(first, last, map, combine, **options)

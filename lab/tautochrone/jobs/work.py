"""The kinds of jobs there are, what their answers depend on, and doing them."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from tautochrone import __version__
from tautochrone.errors import TautoError

_SHOWN_DIGITS = 12


class Kind(Protocol):
    """A module that does jobs of one kind."""

    TOGETHER: bool
    """Whether one process does several jobs, one after the other; else each job has its own."""

    def files(self) -> Sequence[Path]:
        """What is run for such a job: of another file the answer may be another. TautoError where missing."""

    def do(self, asked: Sequence[str], stopped: Callable[[], bool]) -> Iterator[str]:
        """The answer to each, in their order, until it is stopped. Raises TautoError for what it refuses."""


SIMULATE, SMPI = "simulate", "smpi"
_PLACES = {
    SIMULATE: "tautochrone.simulator.engine",
    SMPI: "tautochrone.simulator.smpi.running",
}


def kind_named(name: str) -> Kind:
    return cast(Kind, import_module(_PLACES[name]))


def version_of(kind: str) -> str:
    """What answers of this kind depend on besides what is asked: "0.1.0 tauto-simulate:1a2b3c4d5e6f"."""
    words = [__version__]
    for path in kind_named(kind).files():
        state = path.stat()
        words.append(f"{path.name}:{_digest(path, state.st_mtime_ns, state.st_size)}")
    return " ".join(words)


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_SHOWN_DIGITS]


def key_of(version: str, asked: str) -> str:
    return hashlib.sha256(f"{version}\0{asked}".encode()).hexdigest()


def do(kind: str, asked: Sequence[str], stopped: Callable[[], bool] = lambda: False) -> Iterator[str]:
    return kind_named(kind).do(asked, stopped)


Outcome = tuple[list[str], tuple[str, str] | None]
"""What a worker elsewhere sends back: its answers, or the message and the remedy of a TautoError."""


def done(kind: str, version: str, asked: Sequence[str]) -> Outcome:
    """For a worker on another node. It refuses to answer for a version that it does not have."""
    try:
        own = version_of(kind)
        if own != version:
            raise TautoError(
                f"the worker on {socket.gethostname()} has {own}, and here is {version}",
                "Install the same tautochrone where the workers run",
            )
        return [*do(kind, asked)], None
    except TautoError as error:
        return [], (error.message, error.remedy)


def answers_of(share: Mapping[str, str], outcome: Outcome) -> Iterator[tuple[str, str]]:
    """What a worker answered, by key. Raises the TautoError that it had."""
    answers, refused = outcome
    if refused is not None:
        raise TautoError(*refused)
    return zip(share, answers, strict=True)


_SHARES_A_PLACE = 8  # so that all places end at about the same time
_LEAST_TOGETHER = 4  # to send a share elsewhere and to start its process takes as long as a short simulation


def shares_elsewhere(kind: str, wanted: Mapping[str, str], width: int) -> list[dict[str, str]]:
    """The parts for workers elsewhere that do so many jobs at a time."""
    most = len(wanted) // _LEAST_TOGETHER if kind_named(kind).TOGETHER else len(wanted)
    return shares(wanted, max(1, min(most, _SHARES_A_PLACE * width)))


def shares(wanted: Mapping[str, str], count: int) -> list[dict[str, str]]:
    """So many parts, or fewer. Neighbours go to different ones: in a sweep they take about as long."""
    items = list(wanted.items())
    return [dict(items[first::count]) for first in range(min(count, len(items)))]

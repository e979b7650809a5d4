"""Where jobs are done: here, unless a command was told otherwise; and their answers, each once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tautochrone.errors import TautoError
from tautochrone.jobs import work
from tautochrone.jobs.here import Here
from tautochrone.jobs.kept import Kept
from tautochrone.measuring.progress import SilentProgress, progress_for
from tautochrone.options import Option, check_nodes, split_as_a_shell
from tautochrone.results import USUAL_FOLDER

KEPT_FILE = USUAL_FOLDER / "simulations.jsonl"


class Way(Protocol):
    """Where jobs are done. It may be asked by several threads at a time."""

    width: int
    """How many jobs it does at a time."""

    def answers(self, kind: str, version: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Each key of a job with its answer, as they come; a job that was done twice may come twice.

        A worker that dies costs no job. TautoError for a job that is refused, and where no worker is left.
        """

    def close(self) -> None:
        """Give back what it holds."""


@dataclass
class _Place:
    way: Way = field(default_factory=Here)
    kept: Kept | None = None


_now = _Place()


def width() -> int:
    """How many jobs are done at a time."""
    return _now.way.width


def answers(kind: str, asked: Sequence[str], title: str = "") -> Iterator[tuple[int, str]]:
    """The number of each job with its answer, as they come, every number once.

    Jobs that are the same are done once. What is kept is not done again. With a `title` it shows how far it
    is where that takes more than a second.
    """
    way, kept = _now.way, _now.kept
    progress, begun = progress_for(title) if title else SilentProgress(), time.monotonic()
    version = work.version_of(kind)
    numbers: dict[str, list[int]] = {}
    for number, text in enumerate(asked):
        numbers.setdefault(work.key_of(version, text), []).append(number)
    count, known = len(numbers), kept.known(numbers) if kept is not None else {}
    for key, answer in known.items():
        yield from ((number, answer) for number in numbers.pop(key))
    missing = {key: asked[own[0]] for key, own in numbers.items()}
    try:
        for key, answer in way.answers(kind, version, missing) if missing else ():
            if key not in numbers:  # done again, after its worker had been given up
                continue
            own = numbers.pop(key)
            if kept is not None:
                kept.keep(key, answer)
            gone = time.monotonic() - begun
            left = gone / (len(missing) - len(numbers)) * len(numbers)
            progress.update(count - len(numbers), count, gone, left, "")
            yield from ((number, answer) for number in own)
    finally:
        progress.finish()
    assert not numbers, "a way of spreading has left jobs out"


# -- as a command is told --

LAUNCHER = Option(
    "Words that start a worker on another node: 'srun -N1 -n1 --exclusive'.",
    "WORDS",
    lambda text: split_as_a_shell(text, "--launcher"),
)
NODES = Option("With --launcher: the number of nodes.", "N")
DASK = Option("Use the workers of the Dask scheduler there (needs tautochrone[cluster]).", "ADDRESS")
KEPT = Option(
    "Keep each simulation in this file, and simulate nothing again that it has. "
    f"Default with --launcher and --dask: {KEPT_FILE}.",
    "FILE",
)


@contextmanager
def spread_over(launcher: Sequence[str], nodes: int, dask: str | None, kept: Path | None) -> Iterator[None]:
    """While this lasts, jobs of this process are done there, each once.

    TautoError for options that do not agree.
    """
    check_nodes(nodes)
    if nodes > 1 and not launcher:
        raise TautoError(
            f"--nodes {nodes} needs what starts a worker on a node of its own",
            "Add --launcher 'srun -N1 -n1 --exclusive'",
        )
    if launcher and dask is not None:
        raise TautoError("--launcher and --dask name two places for the same jobs", "Give one of them")
    with ExitStack() as stack:
        if launcher:
            from tautochrone.jobs.launched import Launched

            _now.way = stack.enter_context(closing(Launched(launcher, nodes)))
        elif dask is not None:
            from tautochrone.jobs.on_dask import OnDask

            _now.way = stack.enter_context(closing(OnDask(dask)))
        elsewhere = bool(launcher) or dask is not None
        _now.kept = stack.enter_context(closing(Kept(kept or (KEPT_FILE if elsewhere else None))))
        try:
            yield
        finally:
            _now.way, _now.kept = Here(), None

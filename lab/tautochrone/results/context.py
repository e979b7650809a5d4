"""What a study knows beside its rows: how it was asked, what was left out, what only illustrates them.

It is kept in ``study.json`` next to the rows, so that ``tauto report`` writes the same report again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tautochrone import text
from tautochrone.errors import TautoError, all_printable, explained
from tautochrone.files import read_whole, write_whole
from tautochrone.results.store import Store

CONTEXT_FILE = "study.json"
_MOST_BYTES = 1 << 28


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A runtime that was measured beside ours, and the settings that it was given."""

    runtime: str
    name: str
    version: str
    wait_policies: tuple[str, ...]
    schedules: tuple[str, ...] = ()
    settings: str = ""  # "pinned with OMP_PLACES={0},{1}; hot team; no nested regions"


class NotMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader may look for and not find."""

    what: str
    why: str
    remedy: str = ""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A line that repeats the study or a part of it."""

    label: str
    text: str


class StudyContext(msgspec.Struct, kw_only=True):
    """Everything that every study knows and its rows do not hold; a study adds its own fields."""

    schema: str = ""
    command: str = ""
    folder: str = ""
    quick: bool = False
    peers: tuple[Peer, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    machine_advice: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    measured_factors: Mapping[str, Mapping[str, float]] = {}  # asked "1:4" → {"1": 3.97} as calibrated
    measured_reading_factors: Mapping[str, Mapping[str, float]] = {}  # the same of reads behind the L2 cache
    measured_turns: Mapping[str, Mapping[str, float]] = {}  # asked "1:4" → {"1": 5e-5}, seconds
    idle_watts: tuple[float, ...] = ()  # of the machine that does nothing: before, between, after the runs

    @property
    def commands(self) -> tuple[Command, ...]:
        """Lines that repeat the study or go on from its rows."""
        folder = shlex.quote(self.folder)
        words = shlex.split(self.command)
        dashes = words.index("--") if "--" in words else len(words)  # behind them it would be the program's
        return (
            Command(
                label="Measure this again", text=shlex.join([*words[:dashes], "--fresh", *words[dashes:]])
            ),
            Command(label="Write this report again", text=f"tauto report {folder}"),
            Command(label="All rows as a table", text=f"tauto export {folder} --format csv"),
            Command(label="Compare with another result", text=f"tauto compare {folder} OTHER"),
        )

    @property
    def reported(self) -> dict[str, Any]:
        """What every analysis tells of it, by the name of the analysis's field."""
        return {
            "peers": self.peers,
            "not_measured": self.not_measured,
            "commands": self.commands,
            "advice": (*self.machine_advice, *self.notices),
            "quick": self.quick,
        }


Context = TypeVar("Context", bound=StudyContext)


def save(context: StudyContext, folder: Path) -> None:
    """Write the context whole or not at all. TautoError when the folder cannot be written."""
    path = folder / CONTEXT_FILE
    remedy = "Make room there, or choose another folder with --output"
    with explained(f"{path} cannot be written", remedy):
        write_whole(path, text.as_json(context))


def begin(context: StudyContext, store: Store) -> None:
    """Save the context before the first run.

    A study that goes on keeps what was measured of the idle machine while its first rows were.
    """
    if store.rows(None):
        with suppress(TautoError):  # nothing that is needed to go on
            context.idle_watts = load(context, store.folder).idle_watts
    save(context, store.folder)


def load_all(empty: Context, folders: Iterable[Path]) -> Iterator[Context]:
    """The contexts of folders, without those that cannot be read: opening their rows says why."""
    for folder in folders:
        with suppress(TautoError):
            yield load(empty, folder)


def load(empty: Context, folder: Path) -> Context:
    """The context of a folder; ``empty`` where there is none (an interrupted or older study).

    Raises TautoError for a file that cannot be read, or is of another schema than ``empty``.
    """
    path = folder / CONTEXT_FILE
    try:
        context = msgspec.convert(all_printable(json.loads(read_whole(path, _MOST_BYTES))), type(empty))
        shlex.split(context.command)  # the report splits it
    except FileNotFoundError:
        return empty
    except (OSError, ValueError, RecursionError) as error:
        raise TautoError(
            f"{path} cannot be read: {error}", "Remove it: only what is not in the rows is lost"
        ) from error
    if context.schema != empty.schema:
        raise TautoError(
            f"{path} has the schema {context.schema!r}, expected {empty.schema!r}",
            "Use the version of tautochrone that wrote it, or remove the file",
        )
    return context

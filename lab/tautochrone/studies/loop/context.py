"""What a study knows beside its rows: how it was asked, what was left out, the load samples.

It is kept in ``study.json`` next to the rows, so that ``tauto report`` writes the same report again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import CpuLoad, NotMeasured, Peer

CONTEXT_FILE = "study.json"
CONTEXT_SCHEMA = "tautochrone.loop/1"


class StudyContext(msgspec.Struct, kw_only=True):
    """Everything about a loop study that its rows do not hold."""

    schema: str = CONTEXT_SCHEMA
    command: str = "tauto study loop"
    folder: str = ""
    quick: bool = False
    peers: tuple[Peer, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    cpu_load: tuple[CpuLoad, ...] = ()
    sampler_cpu_seconds: float | None = None
    machine_advice: tuple[str, ...] = ()
    measured_factors: Mapping[str, Mapping[str, float]] = {}  # asked "1:4" → {"1": 3.97} as calibrated
    notices: tuple[str, ...] = ()


def save(context: StudyContext, folder: Path) -> None:
    """Write the context whole or not at all. TautoError when the folder cannot be written."""
    path = folder / CONTEXT_FILE
    unfinished = path.with_name(f".{CONTEXT_FILE}")
    try:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(context), indent=1))
        unfinished.replace(path)
    except OSError as error:
        raise TautoError(
            f"{path} cannot be written: {error.strerror or error}",
            "Make room there, or choose another folder with --output",
        ) from error


def load(folder: Path) -> StudyContext:
    """The context of a folder; an empty one where there is none (an interrupted or older study).

    Raises TautoError for a file that is of another schema.
    """
    path = folder / CONTEXT_FILE
    try:
        context = msgspec.json.decode(path.read_bytes(), type=StudyContext)
    except FileNotFoundError:
        return StudyContext(folder=str(folder))
    except (OSError, msgspec.DecodeError) as error:
        raise TautoError(
            f"{path} cannot be read: {error}", "Remove it: only load samples are lost"
        ) from error
    if context.schema != CONTEXT_SCHEMA:
        raise TautoError(
            f"{path} has the schema {context.schema!r}, expected {CONTEXT_SCHEMA!r}",
            "Use the version of tautochrone that wrote it, or remove the file",
        )
    return context

"""What is known of a search besides its rows; kept in study.json next to them."""

from __future__ import annotations

from collections.abc import Mapping

from tautochrone.results.context import StudyContext
from tautochrone.tune.answer import Finding

SCHEMA = "tautochrone.tune/1"


class TuneContext(StudyContext, kw_only=True):
    """Everything about a search that its rows do not hold."""

    schema: str = SCHEMA
    command: str = "tauto tune"
    program: tuple[str, ...] = ()
    arguments: tuple[tuple[str, ...], ...] = ()
    has_openmp: bool = False
    working_folder: str = ""  # where the command was started; empty: unknown
    mpi_launcher: str | None = None
    objective: str = "time"
    expert: str | None = None
    base: Mapping[str, str] = {}
    tried: tuple[Finding, ...] = ()
    left_out: tuple[Finding, ...] = ()
    finalists: tuple[str, ...] = ()  # config_ids; empty: the final is not planned yet
    looks: tuple[int, ...] = ()
    eliminated: Mapping[str, str] = {}
    ended: str = ""
    seen: tuple[str, ...] = ()  # of the winner, in one more run: its processes, their threads and CPUs

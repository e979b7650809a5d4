"""How commands are compared: what is asked for, with defaults that fit most programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.comparing.result import Asked


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How commands are compared. None means "choose for me".

    `rounds`: exactly so many, in place of going on until the ratio is known within `precision` or
    `budget_seconds` are over. `setup` and `cleanup` run once for each command, before its first and after its
    last run; `prepare` and `conclude` before and after each run, all by /bin/sh, none of them timed.
    `input`: the file that commands read. `ignore_failure`: the exit codes that are no failure; () for none,
    None for all. `output`: the folder of the rows; None: none is kept. `fail_if_slower`: see `judge`.
    """

    rounds: int | None = None
    precision: float = 0.01
    budget_seconds: float | None = None
    warmup: int = 0
    setup: str | None = None
    prepare: tuple[str, ...] = ()
    conclude: tuple[str, ...] = ()
    cleanup: str | None = None
    input: Path | None = None
    ignore_failure: tuple[int, ...] | None = ()
    shell: str | None = None
    cpus: str | None = None
    objective: str = "time"
    check: str | None = None
    time_limit_seconds: float | None = None
    calibrate: bool = False
    seed: int = 1
    output: Path | None = None
    fresh: bool = False


@dataclass(frozen=True)
class Entry:
    """A command to compare; see `Asked`."""

    asked: Asked
    environment: dict[str, str] = field(default_factory=dict)

"""How commands are compared: what is asked for, with defaults that fit most programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tautochrone.comparing.result import Asked
from tautochrone.errors import TautoError
from tautochrone.results.row import MOST_ROUNDS

DEFAULT_BUDGET_SECONDS = 30.0
Codes = tuple[int, ...] | Literal["all"]
ANY: Literal["all"] = "all"
"""`Settings.ignore_failure` for every exit code."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How commands are compared. None means "choose for me". Times are seconds.

    `rounds`: exactly so many, in place of going on until the ratio is known within `precision` or the budget
    is over. `setup` and `cleanup` run once for each command, before its first and after its last run;
    `prepare` and `conclude` before and after each run, all by /bin/sh, none of them timed; one of `prepare`
    and of `conclude` for all commands, or one for each. `input`: the file that the commands read.
    `ignore_failure`: the exit codes that are no failure, or `ANY`. `output`: the folder of the rows; None:
    none are kept.
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
    ignore_failure: Codes = ()
    cpus: str | None = None
    objective: str = "time"
    check: str | None = None
    time_limit_seconds: float | None = None
    calibrate: bool = False
    seed: int = 1
    output: Path | None = None
    fresh: bool = False

    @property
    def judged(self) -> tuple[str, ...]:
        """What decides, beside the commands, what a row means: rows of two of these are not mixed."""
        usual = Settings()
        names = ("prepare", "conclude", "setup", "input", "ignore_failure", "cpus", "objective", "check")
        return tuple(
            f"{name}={getattr(self, name)}" for name in names if getattr(self, name) != getattr(usual, name)
        )

    def check_them(self, commands: int) -> None:
        """TautoError for a setting that cannot be; `commands`: how many are compared."""
        least = 1 if commands == 1 else 8
        if self.rounds is not None and not least <= self.rounds <= MOST_ROUNDS:
            raise TautoError(
                f"--rounds {self.rounds} is outside {least} to {MOST_ROUNDS}",
                "Ask for ten or more: fewer hardly carry a verdict"
                if self.rounds < least
                else "Ask for less",
            )
        if not 1e-5 <= self.precision <= 1.0:
            raise TautoError(
                f"--precision {self.precision:g} is outside 0.001 % to 100 %", "Write it like 1%"
            )
        if self.warmup < 0:
            raise TautoError(f"--warmup {self.warmup} is below 0", "Ask for 0 or more")
        for name in ("prepare", "conclude"):
            given = len(getattr(self, name))
            if given not in (0, 1, commands):
                raise TautoError(
                    f"--{name} was given {given} times for {commands} commands",
                    f"Give it once for all, or once for each of the {commands}",
                )
        if self.input is not None and not self.input.is_file():
            raise TautoError(f"--input {self.input} is no file that can be read", "Correct the path")
        if self.time_limit_seconds is not None and not 0 < self.time_limit_seconds < float("inf"):
            raise TautoError(
                f"--time-limit {self.time_limit_seconds:g} leaves no time to run", "Name seconds above 0"
            )

    def counts(self, exit_code: int) -> bool:
        """Whether a run that ended so is a good one."""
        return exit_code == 0 or self.ignore_failure == ANY or exit_code in self.ignore_failure


@dataclass(frozen=True)
class Entry:
    """A command to compare, with variables that are laid over ours."""

    asked: Asked
    environment: dict[str, str] = field(default_factory=dict)

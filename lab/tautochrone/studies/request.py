"""What is asked of a study: the options that every study has, and those of studies that slow CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from tautochrone.errors import TautoError
from tautochrone.options import Option, State, parse_names, parse_states
from tautochrone.results.row import MOST_ROUNDS

FEWEST_ROUNDS = 8  # that carry a verdict: see verdicts.py
OUTPUT = Option("Where rows and the report go.", "FOLDER")
NO_PEERS = "none"


def peers_option(words: str, flag: str = "--peers") -> Option:
    """The option that names what is measured beside ours."""
    return Option(words, "NAME,…", partial(parse_names, option=flag), flag)


@dataclass(frozen=True, slots=True)
class Turn:
    """Some of a study's rounds, where several studies take turns. ``until_round``: None in the last one."""

    number: int
    until_round: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRequest:
    """The options that every study has. None means "choose for me".

    ``peers``: a study gives them an option of its own. ``like``: the folder of a study whose work this one
    repeats, so that both can be compared. ``turn``: which rounds, where other studies run in between.
    """

    output: Path
    quick: Annotated[bool, Option("A first look: fewer sizes and settings, some minutes.")] = False
    peers: tuple[str, ...] | None = None
    rounds: Annotated[int | None, Option("Rounds of the comparison, 8 or more.")] = None
    fresh: Annotated[bool, Option("Start anew. By default a study that was interrupted goes on.")] = False
    report: Annotated[bool, Option("Write report.html at the end.")] = True
    json: Annotated[bool, Option("Print the analysis as JSON.")] = False
    seed: Annotated[int, Option("The seed for the order of the runs.")] = 1
    time_limit_seconds: Annotated[
        float | None,
        Option("The time limit of each run. Default: derived from its size.", "SECONDS", flag="--time-limit"),
    ] = None
    policies: Annotated[
        bool,
        Option(
            "Once under each frequency policy of this machine, a few rounds in turn; the previous one is "
            "restored at the end (needs root)."
        ),
    ] = False
    like: Path | None = None
    turn: Turn | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds > MOST_ROUNDS:
            raise TautoError(
                f"--rounds {self.rounds} is too many: the exact test takes {MOST_ROUNDS} at most",
                f"Ask for {MOST_ROUNDS} or fewer",
            )
        if self.rounds is not None and self.rounds < FEWEST_ROUNDS:
            raise TautoError(
                f"--rounds {self.rounds} is too few: no verdict is made from fewer than {FEWEST_ROUNDS} "
                "rounds",
                f"Ask for {FEWEST_ROUNDS} or more",
            )

    @property
    def states(self) -> tuple[State, ...]:
        """The states of the machine to measure in, beside the unmodified one."""
        return ()

    @property
    def states_are_needed(self) -> bool:
        """Whether a state that cannot be had is an error."""
        return True

    @property
    def probed_in(self) -> tuple[Path, ...]:
        """The folders whose probes hold here as well: where the study goes on, and `like`."""
        own = () if self.fresh else (self.output,)
        return own if self.like in (None, self.output) else (*own, self.like)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowingRequest(StudyRequest):
    """With the options of studies that also measure with some CPUs made slower."""

    emulate: Annotated[
        tuple[State, ...] | None,
        Option(
            "Also with these CPUs made slower; each item is a state of its own: 1:2,1:4 or 1:2+3:2.",
            "CPU:FACTOR,…",
            parse_states,
        ),
    ] = None
    emulate_if_possible: Annotated[
        tuple[State, ...] | None,
        Option(
            "Like --emulate, but only a warning where this machine does not permit it.",
            "CPU:FACTOR,…",
            parse_states,
        ),
    ] = None

    def __post_init__(self) -> None:
        super(SlowingRequest, self).__post_init__()
        if self.emulate is not None and self.emulate_if_possible is not None:
            raise TautoError("--emulate and --emulate-if-possible were both given", "Give one of them")

    @property
    def states(self) -> tuple[State, ...]:
        return self.emulate or self.emulate_if_possible or ()

    @property
    def states_are_needed(self) -> bool:
        return self.emulate_if_possible is None


@dataclass(frozen=True, slots=True)
class Times:
    """How long a run warms up and is timed, and in how many rounds; the same for a screening."""

    warmup_seconds: float
    timed_seconds: float
    rounds: int
    screening: Times | None = None

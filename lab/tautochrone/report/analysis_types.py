"""What every study's analysis hands to the report, whatever it measured.

A study fills these structures from its rows; the report only draws them. ``None`` always means "not
measured" and is never drawn as 0. All structures are plain data: ``msgspec.json.encode`` writes them,
``msgspec.convert`` reads them back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

import msgspec

Verdict = Literal["faster", "slower", "no difference resolved", "not measured"]
PeerRole = Literal["best", "default"]


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Our time divided by another's: below 1 we are faster. ``low``/``high`` bound the paired median.

    ``value``, ``low`` and ``high`` are None exactly when the verdict is "not measured" for want of rounds
    or of a partner; ``confidence`` is what the sign-test interval really covers (0.95 … ), not the wish.
    """

    value: float | None
    low: float | None
    high: float | None
    confidence: float | None
    rounds: int
    verdict: Verdict

    def inverse(self) -> Self:
        """The other's time divided by ours, which is a speed-up: its ends and its verdict change places."""
        turned: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
        return type(self)(
            value=None if self.value is None else 1.0 / self.value,
            low=None if self.high is None else 1.0 / self.high,
            high=None if self.low is None else 1.0 / self.low,
            confidence=self.confidence,
            rounds=self.rounds,
            verdict=turned.get(self.verdict, self.verdict),
        )


class Joules(msgspec.Struct, frozen=True, kw_only=True):
    """What a meter said of the work that a row's seconds time; medians over the rounds."""

    run: float
    mean_watts: float
    net: float | None  # less idle power
    common: float | None  # with idle power up to the longest time of what it is compared with
    edp: float
    ed2p: float


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration took besides time; medians over the rounds. Times are those of a whole run."""

    joules: Joules | None = None  # None: not every run was metered
    cpu_seconds: float | None = None
    core_seconds: float | None = None  # of the cores that it held, whether they worked or not


class PeerRatio(msgspec.Struct, frozen=True, kw_only=True):
    """tautochrone with no settings, against one configuration of one peer in the same rounds."""

    runtime: str
    configuration: str  # label of the peer's configuration
    role: PeerRole  # the peer's best in this cell, or what it does with no settings
    ratio: Ratio


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to paste into a shell or a program."""

    label: str  # "OpenMP program, GCC's libgomp"
    language: str  # shell, cpp, python, cmake
    text: str
    why: str = ""  # one sentence: when to use these, what they gave here


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


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A published claim beside what was found here; ``holds`` is None where it cannot be tested here."""

    id: str  # H1 … H12, M1 … M6
    published: str
    ours: str
    holds: bool | None
    note: str = ""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A line that repeats the study or a part of it."""

    label: str
    text: str


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What the findings of all studies have in common; only ``verdict_sentences`` is needed for a report."""

    verdict_sentences: tuple[str, ...]  # the first: "On this machine …"
    settings_to_paste: tuple[Settings, ...] = ()
    peers: tuple[Peer, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    claims: tuple[Claim, ...] = ()
    commands: tuple[Command, ...] = ()
    advice: tuple[str, ...] = ()  # about the machine: governor, quota, noisy core
    quick: bool = False  # fewer sizes and rounds than a full study

    def seen_from(self, results: Path, page: Path) -> Self:
        """The same for a page at that path: files beside the results are named relative to its folder."""
        return self

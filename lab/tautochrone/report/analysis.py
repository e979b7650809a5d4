"""What every study's analysis hands to the report, whatever it measured.

A study fills these structures from its rows; the report only draws them. ``None`` always means "not
measured" and is never drawn as 0. All structures are plain data: ``msgspec.json.encode`` writes them,
``msgspec.convert`` reads them back.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import ClassVar, Literal, Self

import msgspec

from tautochrone.report.parts import Parts
from tautochrone.results.context import Command, NotMeasured, Peer


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to paste into a shell or a program."""

    label: str  # "OpenMP program, GCC's libgomp"
    language: str  # shell, cpp, python, cmake
    text: str
    why: str = ""  # one sentence: when to use these, what they gave here


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A bar of the picture, from 0 to its value, with the interval of what was measured in rounds.

    ``now`` is what the others are held against, ``best`` what the first sentence speaks of.
    """

    label: str
    role: Literal["now", "best", "other"]
    value: float
    written: str  # the value for people
    low: float | None = None
    high: float | None = None
    interval: str = ""  # for people, or why there is none


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A few bars on one axis."""

    title: str  # what their lengths are: "time, relative to now"
    bars: tuple[Bar, ...]
    held_against_one: bool = True  # whether a line at 1 stands for what the others are held against


class FirstScreen(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader sees before anything is unfolded, beside the first sentence."""

    picture: Picture | None = None  # None: nothing was compared
    facts: tuple[tuple[str, str], ...] = ()  # what, and what was found; the page adds where it was measured
    paste: Settings | None = None  # by default the first of all settings, or the line that repeats it all


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A published claim beside what was found here; ``holds`` is None where it cannot be tested here."""

    id: str  # H1 … H12, M1 … M6
    published: str
    ours: str
    holds: bool | None
    note: str = ""
    fails_if: str = ""  # what would have made it false
    cpus: int = 0  # a study on fewer CPUs decides nothing
    waits: bool = True  # nor does one that other programs disturbed


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What the findings of all studies have in common; only ``verdict_sentences`` is needed for a report."""

    PAGE: ClassVar[str]
    """The page's module, which has ``parts(analysis)``: by name, because libraries of charts load slowly."""

    WHERE: ClassVar[str] = "Measured on"
    """What its first screen calls the machine."""

    verdict_sentences: tuple[str, ...]  # the first: "On this machine …"
    first: FirstScreen = FirstScreen()
    settings_to_paste: tuple[Settings, ...] = ()
    peers: tuple[Peer, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    claims: tuple[Claim, ...] = ()
    commands: tuple[Command, ...] = ()
    advice: tuple[str, ...] = ()  # about the machine: governor, quota, noisy core
    quick: bool = False  # fewer sizes and rounds than a full study

    def parts(self) -> Parts:
        """What only this page has: its charts, figures and tables."""
        found: Parts = import_module(self.PAGE).parts(self)
        return found

    @property
    def lines_to_paste(self) -> Settings | None:
        """Those of the first screen."""
        if self.first.paste is not None or not (self.settings_to_paste or self.commands):
            return self.first.paste
        if self.settings_to_paste:
            return self.settings_to_paste[0]
        return Settings(label=self.commands[0].label, language="shell", text=self.commands[0].text)

    def seen_from(self, results: Path, page: Path) -> Self:
        """The same for a page at that path: files beside the results are named relative to its folder."""
        return self

"""What every study's analysis hands to the report, whatever it measured.

A study fills these structures from its rows; the report only draws them. ``None`` always means "not
measured" and is never drawn as 0. All structures are plain data: ``msgspec.json.encode`` writes them,
``msgspec.convert`` reads them back.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from tautochrone.report.parts import Parts
from tautochrone.results.context import Command, NotMeasured, Peer


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to paste into a shell or a program."""

    label: str  # "OpenMP program, GCC's libgomp"
    language: str  # shell, cpp, python, cmake
    text: str
    why: str = ""  # one sentence: when to use these, what they gave here


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

    verdict_sentences: tuple[str, ...]  # the first: "On this machine …"
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

    def seen_from(self, results: Path, page: Path) -> Self:
        """The same for a page at that path: files beside the results are named relative to its folder."""
        return self

"""Where the executables of the studies are that were compiled on this machine, and their sources."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from tautochrone import __version__
from tautochrone.studies import STUDIES

SOURCES = Path(__file__).resolve().parents[1] / "sources"
"""They come with the wheel; in a tree they stand elsewhere, and make builds them."""


def can_be_built() -> bool:
    return (SOURCES / "CMakeLists.txt").is_file()


@cache
def folder() -> Path | None:
    """The place of what these very sources give, in the user's cache; None where there is no source."""
    if not can_be_built():
        return None
    sources = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file():
            sources.update(f"{path.relative_to(SOURCES)}\0".encode())
            sources.update(path.read_bytes())
    named = os.environ.get("XDG_CACHE_HOME", "")
    cache_folder = Path(named) if Path(named).is_absolute() else Path("~/.cache").expanduser()
    return cache_folder / "tautochrone" / f"studies-{__version__}-{sources.hexdigest()[:12]}"


def executables() -> Path | None:
    place = folder()
    return None if place is None else place / "bin"


def build_line(executable: str) -> str:
    """What is typed so that this executable is there: "tauto study --build loop"; "" for one of no study."""
    study = executable.removeprefix("tauto-").partition("-")[0]
    return f"tauto study --build {study}" if can_be_built() and study in STUDIES else ""

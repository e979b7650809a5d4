"""Where the loader would find a library, without running anything."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from tautochrone.inspection.elf import Elf, read_elf

_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_CACHED = re.compile(r"^\s*(?P<name>\S+) \(.*\) => (?P<path>/.+)$")
_LIMIT_SECONDS = 20.0


def closure(program: Elf, environment: Mapping[str, str]) -> Iterator[Elf]:
    """The libraries that a program loads at its start, those of LD_PRELOAD first, each once."""
    folders = [one for one in environment.get("LD_LIBRARY_PATH", "").split(":") if one]
    preloaded = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    waiting: list[tuple[str, Elf]] = [(name, program) for name in (*preloaded, *program.needed)]
    seen: set[str] = set()
    while waiting:
        name, asker = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        path = find_library(name, [*asker.search, *program.search, *folders])
        library = read_elf(path) if path is not None else None
        if library is not None:
            yield library
            waiting += [(one, library) for one in library.needed]


def find_library(name: str, folders: Sequence[str]) -> Path | None:
    """The file that a soname stands for; None where the loader would not find it either."""
    if "/" in name:
        return Path(name) if Path(name).is_file() else None
    for folder in folders:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    cached = _cache().get(name)
    if cached is not None:
        return cached
    return next((Path(one) / name for one in _DEFAULT_FOLDERS if (Path(one) / name).is_file()), None)


@cache
def _cache() -> Mapping[str, Path]:
    """What ldconfig knows; empty on systems without one."""
    path = os.environ.get("PATH", "") + ":/sbin:/usr/sbin"
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            ["ldconfig", "-p"],
            env={"PATH": path},
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        ).stdout
        found: dict[str, Path] = {}
        for line in said.splitlines():
            if entry := _CACHED.match(line):
                found.setdefault(entry["name"], Path(entry["path"]))
        return found
    return {}

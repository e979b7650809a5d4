"""ELF files: what one needs and calls, and which libraries the loader would find for it."""

from __future__ import annotations

import mmap
import os
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_PREFIXES = (b"GOMP_", b"__kmpc_", b"omp_")
# schedule(runtime), plain and ordered, as the compiler writes it into the third argument of
# __kmpc_dispatch_init_*: mov $0x25 (or $0x45), %edx, with or without the bit that says "nonmonotonic".
_X86_RUNTIME_SCHEDULE = re.compile(rb"\xba[\x25\x45]\x00\x00[\x00\x40]")


@dataclass(frozen=True)
class Elf:
    """`needed`: sonames; `search`: its own folders for them; `interpreter`: the loader, None if static."""

    path: Path
    needed: tuple[str, ...]
    search: tuple[str, ...]
    interpreter: str | None
    is_program: bool
    openmp_names: frozenset[str]
    passes_runtime_schedule: bool | None  # to __kmpc_dispatch_init_*; None where that cannot be read

    @property
    def linked_statically(self) -> bool:
        """A program that loads no library at all."""
        return self.is_program and self.interpreter is None and not self.needed

    def marks(self, words: Iterable[str]) -> set[str]:
        """Those of `words` that occur anywhere in the file."""
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {word for word in words if content.find(word.encode()) >= 0}


def read_elf(path: Path) -> Elf | None:
    """Read a file; None if it is not an ELF file (a script) or cannot be read."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            return _read(path, ELFFile(file))
    except (OSError, ELFError, UnicodeDecodeError, ValueError):
        return None


def _read(path: Path, elf: ELFFile) -> Elf:
    dynamic: Any = elf.get_section_by_name(".dynamic")
    tags = list(dynamic.iter_tags()) if dynamic is not None else []
    needed = tuple(str(tag.needed) for tag in tags if tag.entry.d_tag == "DT_NEEDED")
    origin = str(path.resolve().parent)
    search: list[str] = []
    for tag in tags:
        if tag.entry.d_tag in ("DT_RUNPATH", "DT_RPATH"):
            words = str(tag.runpath if tag.entry.d_tag == "DT_RUNPATH" else tag.rpath)
            search += [
                folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for folder in words.split(":")
            ]
    interpreter = None
    for segment in elf.iter_segments("PT_INTERP"):
        interpreter = segment.data().rstrip(b"\0").decode()
    names = _openmp_names(elf)
    return Elf(
        path=path,
        needed=needed,
        search=tuple(folder for folder in search if folder),
        interpreter=interpreter,
        is_program=bool(elf.header.e_entry),
        openmp_names=names,
        passes_runtime_schedule=_runtime_schedule(elf, names),
    )


def _openmp_names(elf: ELFFile) -> frozenset[str]:
    """Names of OpenMP's entry points among the symbols: called there or, if static, linked in.

    By their offsets: a string table may keep a name as the end of a longer one.
    """
    called: set[str] = set()
    for table in (".dynsym", ".symtab"):
        symbols = elf.get_section_by_name(table)
        if symbols is None:
            continue
        names: bytes = elf.get_section(symbols["sh_link"]).data()
        layout = f"{'<' if elf.little_endian else '>'}I{symbols['sh_entsize'] - 4}x"
        for (offset,) in struct.iter_unpack(layout, symbols.data()):
            if names.startswith(_PREFIXES, offset):
                called.add(names[offset : names.index(b"\0", offset)].decode())
    return frozenset(called)


def _runtime_schedule(elf: ELFFile, names: frozenset[str]) -> bool | None:
    if not any(name.startswith("__kmpc_dispatch_init") for name in names):
        return False
    code = elf.get_section_by_name(".text")
    if elf.header.e_machine != "EM_X86_64" or code is None:
        return None
    return _X86_RUNTIME_SCHEDULE.search(code.data()) is not None


_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_CACHED = re.compile(r"^\s*(?P<name>\S+) \(.*\) => (?P<path>/.+)$")
_LIMIT_SECONDS = 20.0


def closure(program: Elf, environment: Mapping[str, str]) -> Iterator[Elf]:
    """The libraries that a program loads at its start, those of LD_PRELOAD first, each once."""
    folders = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
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
            waiting += [(needed, library) for needed in library.needed]


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
    return next((Path(folder) / name for folder in _DEFAULT_FOLDERS if (Path(folder) / name).is_file()), None)


@cache
def _cache() -> Mapping[str, Path]:
    """The libraries that ldconfig lists; empty on systems without it."""
    path = os.environ.get("PATH", "") + ":/sbin:/usr/sbin"
    with suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(
            ["ldconfig", "-p"],
            env={"PATH": path},
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        ).stdout
        paths: dict[str, Path] = {}
        for line in listed.splitlines():
            if entry := _CACHED.match(line):
                paths.setdefault(entry["name"], Path(entry["path"]))
        return paths
    return {}

"""One ELF file: what it needs, which OpenMP entry points it calls, and whether it is linked statically."""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
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
        """Those of `words` that stand anywhere in the file."""
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {word for word in words if content.find(word.encode()) >= 0}


def read_elf(path: Path) -> Elf | None:
    """Read a file; None for what is no ELF file (a script) or cannot be read."""
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
                one.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for one in words.split(":")
            ]
    interpreter = None
    for segment in elf.iter_segments("PT_INTERP"):
        interpreter = segment.data().rstrip(b"\0").decode()
    names = _openmp_names(elf)
    return Elf(
        path=path,
        needed=needed,
        search=tuple(one for one in search if one),
        interpreter=interpreter,
        is_program=bool(elf.header.e_entry),
        openmp_names=names,
        passes_runtime_schedule=_runtime_schedule(elf, names),
    )


def _openmp_names(elf: ELFFile) -> frozenset[str]:
    """Names of OpenMP's entry points among the symbols: called there or, if static, linked in.

    By their offsets: a string table may keep a name as the end of a longer one.
    """
    found: set[str] = set()
    for table in (".dynsym", ".symtab"):
        symbols = elf.get_section_by_name(table)
        if symbols is None:
            continue
        names: bytes = elf.get_section(symbols["sh_link"]).data()
        layout = f"{'<' if elf.little_endian else '>'}I{symbols['sh_entsize'] - 4}x"
        for (offset,) in struct.iter_unpack(layout, symbols.data()):
            if names.startswith(_PREFIXES, offset):
                found.add(names[offset : names.index(b"\0", offset)].decode())
    return frozenset(found)


def _runtime_schedule(elf: ELFFile, names: frozenset[str]) -> bool | None:
    if not any(name.startswith("__kmpc_dispatch_init") for name in names):
        return False
    code = elf.get_section_by_name(".text")
    if elf.header.e_machine != "EM_X86_64" or code is None:
        return None
    return _X86_RUNTIME_SCHEDULE.search(code.data()) is not None

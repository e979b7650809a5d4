"""ELF files: what one needs and calls, and which libraries the loader would find for it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.files import opened, unless_refused
from tautochrone.programs.elf_file import X86_64, ElfFile, NoElf

_OPENMP = (b"GOMP_", b"__kmpc_", b"omp_")
_WAITING = (b"pthread_barrier_wait", b"pthread_cond_", b"_ZNSt18condition_variable4wait", b"sem_")
_WAITS = {
    "barriers": re.compile(r"pthread_barrier_wait"),
    "condition variables": re.compile(r"pthread_cond_\w*wait|_ZNSt18condition_variable"),
    "semaphores": re.compile(r"sem_\w*wait"),
}
# schedule(runtime), plain and ordered, as the compiler writes it into the third argument of
# __kmpc_dispatch_init_*: mov $0x25 (or $0x45), %edx, with or without the bit that says "nonmonotonic".
_MOST_NEEDED = 256
_PART_BYTES = 1 << 20
_MOST_MARKED_PARTS = 1024
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
    waits: frozenset[str]  # in which its threads may wait for each other, such as barriers
    passes_runtime_schedule: bool | None  # to __kmpc_dispatch_init_*; None where that cannot be read

    @property
    def linked_statically(self) -> bool:
        """A program that loads no library at all."""
        return self.is_program and self.interpreter is None and not self.needed

    def marks(self, words: Iterable[str]) -> set[str]:
        """Those of `words` that occur anywhere in the file, or in the first gigabyte of a larger one."""
        missing = set(words)
        longest = max((len(word.encode()) for word in missing), default=0)
        found: set[str] = set()
        with unless_refused(), opened(self.path) as file:
            before = b""
            for _ in range(_MOST_MARKED_PARTS):
                part = file.read(_PART_BYTES)
                if not part or not missing:
                    break
                found |= {word for word in missing if word.encode() in before + part}
                missing -= found
                before = part[-longest:]
        return found


def read_elf(path: Path) -> Elf | None:
    """Read a file; None if it is not an ELF file (a script) or may not be read. OSError for a shortage."""
    with unless_refused(), suppress(NoElf, ValueError), opened(path) as file:  # ValueError: a name with a NUL
        return _read(path, ElfFile(file.fileno()))
    return None


def _read(path: Path, elf: ElfFile) -> Elf:
    origin = str(path.resolve().parent)
    search = [
        folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin)
        for words in elf.search_paths()
        for folder in words.split(":")
    ]
    found = elf.symbols_that_begin((*_OPENMP, *_WAITING))
    names = frozenset(name for name in found if name.encode().startswith(_OPENMP))
    return Elf(
        path=path,
        needed=tuple(elf.needed()[:_MOST_NEEDED]),
        search=tuple([folder for folder in search if folder][:_MOST_NEEDED]),
        interpreter=elf.interpreter,
        is_program=bool(elf.entry),
        openmp_names=names,
        waits=frozenset(word for word, pattern in _WAITS.items() if any(map(pattern.match, found))),
        passes_runtime_schedule=_runtime_schedule(elf, names),
    )


def _runtime_schedule(elf: ElfFile, names: frozenset[str]) -> bool | None:
    if not any(name.startswith("__kmpc_dispatch_init") for name in names):
        return False
    code = elf.section(".text")
    if elf.machine != X86_64 or code is None:
        return None
    return _X86_RUNTIME_SCHEDULE.search(elf.content(code)) is not None


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
        return Path(name) if os.path.isfile(name) else None  # noqa: PTH113 - Path raises for long names
    cached = _cache().get(name)
    for folder in (*folders, *(() if cached is not None else _DEFAULT_FOLDERS)):
        path = os.path.join(folder, name)  # noqa: PTH118
        if os.path.isfile(path):  # noqa: PTH113
            return Path(path)
    return cached


@cache
def _cache() -> Mapping[str, Path]:
    """The libraries that ldconfig lists; empty on systems without it. OSError for a shortage."""
    path = os.environ.get("PATH", "") + ":/sbin:/usr/sbin"
    paths: dict[str, Path] = {}
    with unless_refused():
        try:
            listed = subprocess.run(
                ["ldconfig", "-p"],
                env={"PATH": path},
                capture_output=True,
                text=True,
                timeout=_LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TautoError(
                f"ldconfig -p, which lists the libraries of this system, took more than {_LIMIT_SECONDS:g} s",
                "See whether the machine is overloaded, and try again",
            ) from error
        for line in listed.stdout.splitlines():
            if entry := _CACHED.match(line):
                paths.setdefault(entry["name"], Path(entry["path"]))
    return paths

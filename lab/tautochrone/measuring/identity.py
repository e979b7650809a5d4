"""What is measured, as the bytes of its files: a program that was built anew must not go on with old rows.

The files are the program, the libraries that the loader takes at its start, the interpreter of a script, the
programs behind ``env``, ``mpirun`` and the like, and the files that are words of the command. What a program
opens by itself, modules of Python among it, is not looked at.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.files import unless_refused
from tautochrone.measuring.configuration import Configuration
from tautochrone.programs.commands import behind, find_program, interpreter_of
from tautochrone.programs.elf import closure, read_elf

WHOLE_BYTES = 256 << 20
"""Files up to this size are hashed, which takes up to half a second. Of a larger one its size, its inode and
the moments of its last changes are taken. The last, ctime, cannot be set back: a change is never missed, but
may be seen where none is, as after a copy."""

_LOADED_FROM = ("LD_PRELOAD", "LD_LIBRARY_PATH")

Status = tuple[int, int, int, int]


@dataclass(frozen=True)
class Identity:
    """`prints` has for each file's name what tells its content from another; `paths` where it lies."""

    prints: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    _status: dict[str, Status] = field(default_factory=dict, repr=False, compare=False)

    def changed(self) -> list[str]:
        """The files that are not what they were. Nothing is read of a file whose status is the same."""
        found = []
        for name, path in self.paths.items():
            status = status_of(path)
            if status is not None and status == self._status.get(name):
                continue
            if fingerprint(path) != self.prints[name]:
                found.append(name)
            elif status is not None:
                self._status[name] = status
        return found


def identity_of(files: Iterable[Path]) -> Identity:
    """Of these files as they are. What cannot be read is left out."""
    prints: dict[str, str] = {}
    paths: dict[str, Path] = {}
    status: dict[str, Status] = {}
    for path in dict.fromkeys(files):
        before, found = status_of(path), fingerprint(path)
        if before is None or found is None:
            continue
        name = path.name
        while name in prints and prints[name] != found:
            name += "'"  # another file of that name
        prints[name], paths[name], status[name] = found, path, before
    return Identity(prints, paths, status)


def files_of(
    command: Sequence[str], environment: Mapping[str, str], inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """The files that a command's work depends on, with those of its words that are `inputs`.

    `environment` is laid over our own.
    """
    yield from program_files(find_program(command[0]), environment)
    try:
        what = behind(command)
    except TautoError:  # a wrapper's program that only the node has
        return
    starts = [Path(found) for name in what.through if (found := shutil.which(name)) is not None]
    for program in (*starts, *what.programs):
        yield from program_files(program, {**environment, **what.environment})
    yield from inputs


def started_files(configurations: Iterable[Configuration]) -> Iterator[Path]:
    """What is loaded for the first word of each command; what its other words name is not looked at."""
    seen: set[tuple[str, ...]] = set()
    for configuration in configurations:
        word, variables = configuration.command[0], configuration.environment
        key = (word, *(variables.get(name, "") for name in _LOADED_FROM))
        if key not in seen and (program := shutil.which(word)) is not None:
            yield from program_files(Path(program), variables)
        seen.add(key)


def program_files(program: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A program, its interpreter, and the libraries of both as the loader would take them now."""
    variables = {**os.environ, **environment}
    for path in (program, interpreter_of(program)):
        if path is None:
            continue
        yield path
        elf = read_elf(path)
        if elf is not None:
            for library in closure(elf, variables):
                yield library.path


def named_files(words: Sequence[str]) -> Iterator[Path]:
    """The regular files that are words, or stand behind the equals sign of an option."""
    for word in words[1:]:
        for part in dict.fromkeys((word, word.partition("=")[2])):
            path = Path(part)
            if part and status_of(path) is not None:
                yield path


def as_before(before: Mapping[Path, Status | None]) -> Iterator[Path]:
    """Those of these files that still have that status: a run that was between has not written them."""
    return (path for path, status in before.items() if status_of(path) == status)


def status_of(path: Path) -> Status | None:
    """Size, inode and last changes of a regular file; None for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def fingerprint(path: Path) -> str | None:
    """What tells a file's content from another one; None where there is no such file, or it may not be read.

    OSError for a shortage: rows without the file would not go on later.
    """
    status = status_of(path)
    if status is None:
        return None
    if status[0] > WHOLE_BYTES:
        return "status:" + "-".join(map(str, status))
    with unless_refused(), path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()[:32]}"
    return None

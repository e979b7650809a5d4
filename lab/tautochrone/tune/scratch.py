"""A folder for each run (``--scratch``): a private copy of the current folder.

Copies and not links: a program that opens an existing file for writing would write through a link into the
user's file. Where the file system supports it, a copy shares its blocks with the original until one of them
is written (FICLONE), and costs next to nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TautoError, explained
from tautochrone.measuring.temporary import temporary_folder
from tautochrone.results import USUAL_FOLDER
from tautochrone.text import binary_bytes

MOST_COPIED_BYTES = 4 << 30
_FICLONE = 0x40049409
_PREFIX = "tauto-scratch-"
_HOST = os.uname().nodename


@dataclass(frozen=True)
class Scratch:
    """Makes the folders. ``results``: the lab's own folder, which is not copied.

    ``beside_results``: the folders are made in it and not where temporary files go, so that other nodes with
    the same file system see them.
    """

    results: Path | None = None
    beside_results: bool = False
    most_bytes: int = MOST_COPIED_BYTES

    @contextmanager
    def __call__(self) -> Iterator[Path | None]:
        """A folder for one run. TautoError where there is too much to copy."""
        parent = None
        if self.beside_results and self.results is not None:
            self.results.mkdir(parents=True, exist_ok=True)
            parent = self.results.absolute()
        with temporary_folder(f"{_PREFIX}{_HOST}-", parent) as folder:
            here = Path.cwd()
            left_out = {here / USUAL_FOLDER, folder.resolve()}  # temporary files may go here
            left_out |= {self.results.absolute()} if self.results is not None else set()
            remedy = "Make room there, or name another place for temporary files in TMPDIR"
            with explained(f"this folder cannot be copied to {folder}", remedy):
                _Copy(here, left_out, self.most_bytes).make(here, folder, (here.resolve(),))
            yield folder


@dataclass
class _Copy:
    """One copy of the folder ``here``. ``largest``: the size and name of its largest file."""

    here: Path
    left_out: Collection[Path]
    most_bytes: int
    copied_bytes: int = 0
    largest: tuple[int, str] = (0, "")

    def make(self, source: Path, target: Path, inside: tuple[Path, ...]) -> None:
        """`inside`: the folders above, which a link may lead back to."""
        with os.scandir(source) as entries:
            for entry in entries:
                path = Path(entry.path)
                if path in self.left_out:
                    continue
                # It may be gone, a link to nothing, or not readable.
                with suppress(FileNotFoundError, PermissionError):
                    if entry.is_symlink() and self._link(path, target / entry.name):
                        continue
                    if entry.is_dir():
                        real = path.resolve()
                        if real not in inside:
                            (target / entry.name).mkdir()
                            self.make(path, target / entry.name, (*inside, real))
                    elif stat.S_ISREG(entry.stat().st_mode):
                        self._file(path, target / entry.name, entry.stat().st_size)

    def _link(self, path: Path, target: Path) -> bool:
        """A link that stays inside the folder stays a link, to the copy; False for one that leads out."""
        words = path.readlink()
        within = os.path.normpath(path.parent / words)
        if words.is_absolute() or not Path(within).is_relative_to(self.here) or not path.exists():
            return False
        target.symlink_to(words)
        return True

    def _file(self, path: Path, target: Path, size: int) -> None:
        self.largest = max(self.largest, (size, str(path.relative_to(self.here))))
        if not _cloned(path, target):
            self.copied_bytes += size
            if self.copied_bytes > self.most_bytes:
                raise TautoError(
                    f"--scratch would copy more than {binary_bytes(self.most_bytes)} for each run "
                    f"(the largest file: {self.largest[1]}, {binary_bytes(self.largest[0])})",
                    "Start in a folder that holds what the program needs and no more, and name large files "
                    "that it only reads by their absolute paths",
                )
            shutil.copyfile(path, target)
        shutil.copystat(path, target)


def _cloned(path: Path, target: Path) -> bool:
    """Make a copy that shares its blocks; False where the file system cannot."""
    with path.open("rb") as source, target.open("wb") as new:
        try:
            fcntl.ioctl(new, _FICLONE, source.fileno())
        except OSError:
            return False
    return True

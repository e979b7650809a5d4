"""Temporary files and folders that somebody removes, whoever is killed: this process or the next.

Each is locked as long as its process lives. Who makes one removes those of this user that nobody has locked.
No process number says so: numbers are used again, and other containers have their own.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder, in `parent` or where temporary files go, which is removed with all in it."""
    with _made(prefix, parent, is_folder=True) as path:
        yield path


@contextmanager
def temporary_file(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new empty file, in `parent` or where temporary files go, which is removed."""
    with _made(prefix, parent, is_folder=False) as path:
        yield path


@contextmanager
def _made(prefix: str, parent: Path | None, *, is_folder: bool) -> Iterator[Path]:
    parent = parent or Path(tempfile.gettempdir())
    remove_left_over(prefix, parent)
    path, descriptor = _locked(prefix, parent, is_folder=is_folder)
    try:
        yield path
    finally:
        _remove(path)
        os.close(descriptor)


def _locked(prefix: str, parent: Path, *, is_folder: bool) -> tuple[Path, int]:
    """Made and locked. Between the two somebody may have taken it for left over."""
    while True:
        path = parent / f"{prefix}{secrets.token_hex(8)}"
        if is_folder:
            path.mkdir(0o700)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        else:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with suppress(FileNotFoundError):
            descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
            with suppress(OSError):  # a file system without locks, where nothing is removed either
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.lexists(path):
                return path, descriptor
            os.close(descriptor)


@cache
def remove_left_over(prefix: str, parent: Path) -> None:
    """Remove, once in a process, what processes that were killed have left there."""
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(path)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()

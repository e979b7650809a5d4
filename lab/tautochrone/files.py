"""Files in folders where others may write too: replaced whole, written through nobody's link, read in bounds.

A folder of results may belong to somebody else, or be open to a group. Whoever may write there could put a
link in the place of a file, or a pipe that nobody serves. So each folder on the way is opened by itself, and
a link is followed only if root or this user made it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import select
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_UNFINISHED = ".tauto-unfinished-"
_MOST_LINKS = 40
_PIPE_SECONDS = 5.0
_PART_BYTES = 1 << 20
_SHORTAGES = {
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
    *(errno.EIO, errno.ENOSPC, errno.EDQUOT),
}


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the name `path` at the end, when all of it is on the disk.

    Where anything fails, what stood at `path` stays and nothing is left beside it; after a kill the next one
    that writes there removes what was left. What a link leads to is replaced, not the link; a device or a
    pipe is written to as it is. OSError, also for a link that somebody else has made.
    """
    if _is_special(path):
        with open(_opened_special(path), "wb") as file:
            yield file
        return
    with _place(path) as (folder, name):
        _remove_left_over(folder)
        unfinished, descriptor = _unfinished(folder)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123
                yield file
                file.flush()
                os.fsync(descriptor)
                os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise
        _sync(folder)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8 (a byte that is no text as an escape), whole or not at all. OSError."""
    with replacing(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))


def open_to_append(path: Path, flags: int = os.O_WRONLY) -> int:
    """A descriptor of a file that may be there already, made if it is not. OSError for what is no file.

    Neither a link of somebody else's is followed, nor a second name that somebody else could have given it.
    """
    with _place(path) as (folder, name):
        flags |= os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
        try:
            found, around = os.fstat(descriptor), os.fstat(folder)
            _refuse_special(found.st_mode)
            theirs = around.st_uid not in (0, os.geteuid()) or around.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if found.st_nlink > 1 and theirs:
                raise OSError(errno.EMLINK, "it has a second name, which somebody else may have given it")
            _sync(folder)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Add whole lines at the end of a file, made if it is not there; on the disk when this returns. OSError.

    The beginning of a line that a kill or a full disk has left is removed first. One process at a time.
    """
    with open(open_to_append(path, os.O_RDWR), "r+b") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(_end_of_lines(file))
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def _end_of_lines(file: IO[bytes]) -> int:
    """How many bytes of a file are whole lines."""
    end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - _PART_BYTES)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def read_whole(path: Path, most_bytes: int) -> bytes:
    """All bytes of a file, or of a pipe that somebody writes to. OSError for more, and for a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISFIFO(mode):
            _refuse_special(mode)
        return b"".join(_parts(file, most_bytes))


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to read from. OSError, also for a pipe, a device and a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        _refuse_special(os.fstat(descriptor).st_mode)
        yield file


@contextmanager
def unless_refused() -> Iterator[None]:
    """Ends its block early where a file is not there or may not be read.

    OSError where the system lacks something for a moment, as descriptors or memory: the file may be there.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _SHORTAGES:
            raise


def _parts(file: IO[bytes], most_bytes: int) -> Iterator[bytes]:
    """What is read until its end. A pipe whose writer says nothing is not waited for."""
    total = 0
    end = time.monotonic() + _PIPE_SECONDS
    while True:
        part = file.read(_PART_BYTES)
        if part is None:  # a pipe that has nothing yet
            if not select.select([file], [], [], max(0.0, end - time.monotonic()))[0]:
                raise OSError(errno.ETIMEDOUT, "nothing came through the pipe")
            continue
        if not part:
            return
        total += len(part)
        if total > most_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {most_bytes >> 20} MiB")
        yield part


def _is_special(path: Path) -> bool:
    """Whether a pipe or a device stands there. IsADirectoryError for a folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return not stat.S_ISREG(mode)


def _opened_special(path: Path) -> int:
    """A pipe or a device, open for writing. OSError for a pipe that nobody reads."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is a pipe or a socket that nobody reads from") from error
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def _refuse_special(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")


@contextmanager
def _place(path: Path) -> Iterator[tuple[int, str]]:
    """The folder of `path`, open, and the name in it, which is no link. OSError for a link of another user's.

    Each folder on the way is opened in the one before, so that none can be exchanged for a link meanwhile.
    """
    parts = [*reversed(path.absolute().parts[1:])]
    links = 0
    folder = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def step(name: str) -> None:
        # Ctrl-C may come between any two of these: nothing is closed twice then.
        nonlocal folder
        outer = folder
        folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=outer)
        os.close(outer)

    try:
        while parts:
            name = parts.pop()
            found = None
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if found is not None and stat.S_ISLNK(found.st_mode):
                links += 1
                parts += reversed(_followed(path, name, folder, found.st_uid, links).parts)
                if parts and parts[-1] == "/":
                    step(parts.pop())
            elif parts:
                step(name)
            else:
                yield folder, name
                return
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    finally:
        os.close(folder)


def _followed(path: Path, name: str, folder: int, owner: int, links: int) -> Path:
    if owner not in (0, os.geteuid()):
        raise OSError(
            errno.ELOOP, f"{name} on the way there is a link that another user has made (number {owner})"
        )
    if links > _MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return Path(os.readlink(name, dir_fd=folder))


def _unfinished(folder: int) -> tuple[str, int]:
    """A new file in `folder` with a name that nobody could guess, locked as long as it is written."""
    while True:
        name = f"{_UNFINISHED}{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
        with suppress(OSError):  # a file system without locks, where nothing is removed either
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return name, descriptor
        os.close(descriptor)  # removed as left over before it was locked


def _remove_left_over(folder: int) -> None:
    """Remove this user's files that a killed process has begun here: those that nobody has locked."""
    with suppress(OSError), _readable(folder) as listed:
        for name in os.listdir(listed):  # noqa: PTH208 - an open folder
            if not name.startswith(_UNFINISHED):
                continue
            with suppress(OSError):
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                descriptor = os.open(name, flags, dir_fd=listed)
                try:
                    if os.fstat(descriptor).st_uid == os.geteuid():
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.unlink(name, dir_fd=listed)
                finally:
                    os.close(descriptor)


@contextmanager
def _readable(folder: int) -> Iterator[int]:
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync(folder: int) -> None:
    """Make a new name survive a power cut."""
    with suppress(OSError), _readable(folder) as listed:
        os.fsync(listed)

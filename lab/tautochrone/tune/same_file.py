"""Whether a command writes to the same files in each run: each would read what the one before has left."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

from tautochrone.errors import TautoError
from tautochrone.inspection.watching import Watched
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.store import ROWS_FILE
from tautochrone.tune.options import TuneRequest

_MOST_FILES = 10_000
_LONGEST_IDLE_SECONDS = 1.0


def files_here(request: TuneRequest) -> dict[str, tuple[int, int]]:
    """The files in this folder and those below it, but our own; the nearest `_MOST_FILES` of them.

    By path: time of the last change in nanoseconds, and size.
    """
    files: dict[str, tuple[int, int]] = {}
    ours = {os.path.abspath(USUAL_FOLDER), os.path.abspath(request.folder)}  # noqa: PTH100
    folders = ["."]
    while folders and len(files) < _MOST_FILES:
        with suppress(OSError), os.scandir(folders.pop(0)) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if os.path.abspath(entry.path) not in ours and not _is_store(entry.path):  # noqa: PTH100
                        folders.append(entry.path)
                elif entry.is_file():
                    status = entry.stat()
                    files[entry.path.removeprefix("./")] = (status.st_mtime_ns, status.st_size)
    return files


def _is_store(folder: str) -> bool:
    """Whether another search or study may be writing there."""
    return os.path.exists(os.path.join(folder, ROWS_FILE))  # noqa: PTH110, PTH118


def refuse_same_file(
    request: TuneRequest, before: dict[str, tuple[int, int]], run: Callable[[], Watched], words: str
) -> None:
    """Runs that write to one file would read what the run before has left there.

    Others may write in this folder meanwhile. Where something was written, the command is run once more: it
    writes again. And nothing is run for a while: what is written then is not its, nor is what another process
    has open for writing. What is gone again, nobody reads. Where files have new names in each run, as those
    of a build beside it have, another look says whether there are new ones while nothing runs.
    """
    first = files_here(request)
    written = _written(before, first)
    if not written:
        return
    seconds = run().seconds
    second = files_here(request)
    time.sleep(min(seconds, _LONGEST_IDLE_SECONDS))
    by_others = _written(second, files_here(request))
    again = _written(first, second)
    makes_new_ones = any(path not in first for path in again)
    written = [
        path
        for path in written
        if path not in by_others
        and (path in again or (makes_new_ones and path not in before))
        and os.path.lexists(path)
    ]
    if any(path not in again for path in written):
        third = files_here(request)
        time.sleep(_LONGEST_IDLE_SECONDS)
        if any(path not in third for path in _written(third, files_here(request))):
            written = [path for path in written if path in again]
    if written:
        held = _open_for_writing()
        written = [path for path in written if os.path.realpath(path) not in held]
    if written:
        raise TautoError(
            f"{words} writes {', '.join(written[:3])} in this folder, the same in each run",
            "Add --scratch: each run then has a folder of its own; or let it write to /dev/null",
        )


def _written(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> list[str]:
    written = sorted(path for path, status in after.items() if status != before.get(path))
    if len(before) >= _MOST_FILES:  # not all were looked at: a new one below may have been there before
        written = [path for path in written if path in before or "/" not in path]
    return written


def _open_for_writing() -> set[str]:
    """The files that the processes of this user have open for writing. The command has none: it has ended."""
    files = set()
    for pid in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else ()):  # noqa: PTH112, PTH208
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    file = os.readlink(entry.path)  # noqa: PTH115
                    if file.startswith("/") and os.lstat(entry.path).st_mode & stat.S_IWUSR:
                        files.add(file)
    return files

"""A control group (version 2) for each run, where the system lets this process make some.

Nothing leaves its group: not by a new session, not by a second fork. So all that a run started can be
counted and ended. No controller is switched on, so the scheduler treats the run as it would without. Where
no group can be made, the run has a process group, and its orphans come to the starter, their reaper.

A PID namespace is none: in it a program has another number than /proc shows of it, or needs a /proc of its
own, and with that rights or a user that are not its usual ones. It would run otherwise than without us.

Like the starter it imports next to nothing.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

CONTROL_GROUP, PROCESS_GROUP = "control group", "process group"
_PREFIX = "tauto-run-"
_TRIES, _BETWEEN_SECONDS = 100, 1e-3  # the kernel takes a moment to bury the last process


def folder_here() -> str | None:
    """The folder of this process's own group; None without version 2 of control groups."""
    with suppress(OSError):
        return own_folder(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
    return None


def own_folder(mounts: str, groups: str) -> str | None:
    """The same, from the text of mountinfo and cgroup in /proc/self."""
    path = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), None)
    if path is None:
        return None
    for line in mounts.splitlines():
        place, _, what = line.partition(" - ")
        if what.split()[:1] == ["cgroup2"]:
            root, mount = place.split()[3:5]
            root = root.rstrip("/")  # in a container a part of the tree is mounted
            if f"{path}/".startswith(f"{root}/"):
                return f"{mount}{path[len(root) :]}".rstrip("/")
    return None


class Groups:
    """Makes a group for each run. Groups of starters that were killed are ended and removed."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._made = 0
        if folder is not None:
            self._clear(folder)

    def made_for(self, pid: int) -> Group | None:
        """A new group with this process in it; None where that cannot be had, now and from then on."""
        if self._folder is None:
            return None
        self._made += 1
        group = Group(f"{self._folder}/{_PREFIX}{os.getpid()}-{self._made}")
        try:
            group.begin(pid)
        except OSError:
            group.end()
            self._folder = None
            return None
        return group

    def _clear(self, folder: str) -> None:
        names = []
        with suppress(OSError):
            names = [name for name in os.listdir(folder) if name.startswith(_PREFIX)]  # noqa: PTH208
        for name in names:
            owner = name.removeprefix(_PREFIX).partition("-")[0]
            if not os.path.exists(f"/proc/{owner}"):  # noqa: PTH110
                Group(f"{folder}/{name}").end()


class Group:
    """The group of one run, below `folder`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def begin(self, pid: int) -> None:
        """Make it, and move a process there. OSError where the system refuses either."""
        os.mkdir(self._folder)  # noqa: PTH102
        self._write("cgroup.procs", str(pid))

    def processes(self) -> list[int]:
        """Those that have not ended."""
        with suppress(OSError):
            return [int(word) for word in _text(f"{self._folder}/cgroup.procs").split()]
        return []

    def cpu_seconds(self) -> tuple[float, float] | None:
        """User and system time of all processes that were ever in it; None where the kernel does not tell."""
        with suppress(OSError, KeyError, ValueError):
            lines = (line.split() for line in _text(f"{self._folder}/cpu.stat").splitlines())
            microseconds = {name: int(value) for name, value in lines}
            return microseconds["user_usec"] / 1e6, microseconds["system_usec"] / 1e6
        return None

    def kill(self) -> None:
        """End all processes in it."""
        with suppress(OSError):
            self._write("cgroup.kill", "1")
            return
        for pid in self.processes():  # before Linux 5.14
            with suppress(OSError):
                os.kill(pid, 9)

    def end(self) -> None:
        """End what is in it and remove it."""
        for _ in range(_TRIES):
            try:
                os.rmdir(self._folder)  # noqa: PTH106
            except FileNotFoundError:
                return
            except OSError:
                self.kill()
                time.sleep(_BETWEEN_SECONDS)
            else:
                return

    def _write(self, name: str, word: str) -> None:
        file = os.open(f"{self._folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, word.encode())
        finally:
            os.close(file)


def _text(path: str) -> str:
    # The names of folders may hold any bytes.
    with open(path, errors="surrogateescape") as file:  # noqa: PTH123
        return file.read()

"""A control group (version 2) for each run, where the system lets this process make some.

Nothing leaves its group: not by a new session, not by a second fork. So all that a run started can be
counted and ended. No controller is switched on, so the scheduler treats the run as it would without. Where
no group can be made, the run has a process group, and its orphans come to the starter, their reaper.

A PID namespace is none: in it a program has another number than /proc shows of it, or needs a /proc of its
own, and with that rights or a user that are not its usual ones. It would run otherwise than without us.

Like the starter it imports next to nothing.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress

CONTROL_GROUP, PROCESS_GROUP = "control group", "process group"
_PREFIX = "tauto-run-"
_TRIES, _BETWEEN_SECONDS = 100, 1e-3  # the kernel takes a moment to bury the last process
_CLONE3 = 435  # a system call's number, the same on all processors of today
_CLONE_INTO_CGROUP = 1 << 33


class _CloneArguments(ctypes.Structure):
    """What clone3 takes; see its manual page."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "flags",
            "pidfd",
            "child_tid",
            "parent_tid",
            "exit_signal",
            "stack",
            "stack_size",
            "tls",
            "set_tid",
            "set_tid_size",
            "cgroup",
        )
    ]


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
        self._born_inside = True
        if folder is not None:
            self._clear(folder)

    def fork(self) -> tuple[int, Group | None]:
        """Fork: 0 in the child, else its number, and the new group that it is in.

        None in place of the group where none can be had, now and from then on.
        """
        if self._folder is None:
            return os.fork(), None
        self._made += 1
        group = Group(f"{self._folder}/{_PREFIX}{os.getpid()}-{self._made}")
        try:
            group.make()
        except OSError:
            self._folder = None
            return os.fork(), None
        if self._born_inside:
            try:
                return group.fork(), group
            except OSError:  # before Linux 5.7, or a sandbox forbids it
                self._born_inside = False
        pid = os.fork()
        if pid == 0:
            return 0, group
        try:
            group.take(pid)
        except OSError:
            group.end()
            self._folder = None
            return pid, None
        return pid, group

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
        self._before = 0.0, 0.0

    def make(self) -> None:
        """OSError where the system refuses."""
        os.mkdir(self._folder)  # noqa: PTH102

    def fork(self) -> int:
        """Fork a child that is in it from its first instruction on. OSError where the system cannot.

        To move a process there the kernel waits until all CPUs have come past the scheduler: some 15 ms.
        """
        here = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        asked = _CloneArguments(flags=_CLONE_INTO_CGROUP, exit_signal=signal.SIGCHLD, cgroup=here)
        # This process has one thread, and the child becomes a program soon: the C library's own fork does no
        # more for it. PyDLL keeps Python's lock, so that the child need not take it.
        library = ctypes.PyDLL(None, use_errno=True)
        pid: int = library.syscall(_CLONE3, ctypes.byref(asked), ctypes.sizeof(asked))
        os.close(here)
        if pid < 0:
            raise OSError(ctypes.get_errno(), "clone3")
        return pid

    def take(self, pid: int) -> None:
        """Move a process there. OSError where the system refuses."""
        self._write("cgroup.procs", str(pid))

    def begin(self) -> None:
        """What its processes have done until now is not the program's."""
        self._before = self._read_cpu_seconds() or (0.0, 0.0)

    def processes(self) -> list[int]:
        """Those that have not ended."""
        with suppress(OSError):
            return [int(word) for word in _text(f"{self._folder}/cgroup.procs").split()]
        return []

    def cpu_seconds(self) -> tuple[float, float] | None:
        """User and system time of all that ran in it since it began; None where the kernel does not tell."""
        now = self._read_cpu_seconds()
        if now is None:
            return None
        return max(0.0, now[0] - self._before[0]), max(0.0, now[1] - self._before[1])

    def _read_cpu_seconds(self) -> tuple[float, float] | None:
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

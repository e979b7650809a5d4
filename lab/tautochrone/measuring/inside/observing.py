"""What a running program and its children look like from outside: their memory, threads, CPUs and priority.

The starter looks at /proc now and then while a program runs, where it is asked to. Like the starter it
imports next to nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

FIRST_LOOKS_SECONDS, LATER_LOOKS_SECONDS = 0.01, 0.05
_FIRST_LOOKS = 100
_PARENT, _SESSION = 1, 3  # fields of /proc/PID/stat
_BUSY_PROCESS = 0.1  # of the CPU time of the busiest process: below it, it only starts others
_BUSY_THREAD = 0.05  # of that of the process's busiest thread: below it, it only waits


class _Thread:
    """A thread: what it has run, where it may run, and at which looks it was there first and last."""

    def __init__(self, look: int) -> None:
        self.first = self.last = look
        self.ran = 0
        self.cpus = ""
        self.nice = 0


class _Process:
    """A process, from its last exec on."""

    def __init__(self, command: str, environment: dict[str, str]) -> None:
        self.command = command
        self.environment = environment
        self.threads: dict[str, _Thread] = {}

    @property
    def ran(self) -> int:
        return sum(thread.ran for thread in self.threads.values())


class Observer:
    """Looks at a program that runs, at its ``memory``; or also at its ``threads``, or at its ``files``.

    ``threads``: and at these variables (`names`) in the environment of its processes. ``files``: that are
    mapped into its processes, with the most threads at a time.
    """

    def __init__(self, pid: int, what: str, names: Sequence[str] = ()) -> None:
        self._pid = pid
        self._what = what
        self._files: set[str] = set()
        self._most_threads = 0
        self._names = names
        self._looks = 0
        self._most_bytes = 0
        self._processes: dict[int, _Process] = {}

    @property
    def wait(self) -> float:
        return FIRST_LOOKS_SECONDS if self._looks < _FIRST_LOOKS else LATER_LOOKS_SECONDS

    def look(self) -> None:
        self._looks += 1
        total = threads = 0
        for pid in tree(self._pid):
            with suppress(OSError, ValueError, IndexError):
                total += _peak_bytes(pid)
                if self._what == "threads":
                    self._look_at_threads(pid)
                if self._what == "files":
                    threads += len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
                    maps = _text(f"/proc/{pid}/maps").splitlines()
                    self._files |= {line[line.index("/") :] for line in maps if "/" in line}
        self._most_bytes = max(self._most_bytes, total)
        self._most_threads = max(self._most_threads, threads)

    def record(self) -> dict[str, object]:
        """``memory_bytes``: the peaks of the processes that were there together, added; the largest such sum.

        ``processes``: those that worked, the busiest first; of each the threads that worked at a time, and
        the lists of CPUs and the priorities that these had.
        """
        least = _BUSY_PROCESS * max((process.ran for process in self._processes.values()), default=0)
        busy = [process for process in self._processes.values() if process.ran > 0 and process.ran >= least]
        busy.sort(key=lambda process: -process.ran)
        return {
            "memory_bytes": self._most_bytes or None,
            "processes": [_of_process(process) for process in busy],
            "files": sorted(self._files),
            "most_threads": self._most_threads,
        }

    def _look_at_threads(self, pid: int) -> None:
        command = _text(f"/proc/{pid}/comm").strip()
        process = self._processes.get(pid)
        if process is None or process.command != command:
            process = _Process(command, self._environment(pid))
            self._processes[pid] = process
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            folder = f"/proc/{pid}/task/{task}"
            with suppress(OSError, ValueError, IndexError):
                stat = _text(f"{folder}/stat").rpartition(")")[2].split()
                thread = process.threads.setdefault(task, _Thread(self._looks))
                thread.last = self._looks
                thread.ran = _ran(folder, stat)
                thread.nice = int(stat[16])
                thread.cpus = _field(_text(f"{folder}/status"), "Cpus_allowed_list:")

    def _environment(self, pid: int) -> dict[str, str]:
        if not self._names:
            return {}
        text = _text(f"/proc/{pid}/environ")
        if not text:
            raise OSError("a process that ends, or has not yet begun")
        words = (word.partition("=") for word in text.split("\0"))
        return {name: value for name, _, value in words if name in self._names}


def _of_process(process: _Process) -> dict[str, object]:
    threads = list(process.threads.values())
    least = _BUSY_THREAD * max(thread.ran for thread in threads)
    busy = [thread for thread in threads if thread.ran >= least]
    return {
        "command": process.command,
        "cpu_seconds": process.ran / 1e9,
        "threads": max(sum(thread.first <= other.first <= thread.last for thread in busy) for other in busy),
        "cpus": sorted({thread.cpus for thread in busy}),
        "nice": sorted({thread.nice for thread in busy}),
        "environment": process.environment,
    }


def left_running(but: Container[int], others: Iterable[int] = ()) -> list[str]:
    """The names of what a program that has ended has left at work; its orphans belong to us, their reaper.

    `but`: children of ours that are not meant, such as the program itself. `others`: more of its processes.
    """
    names = []
    for pid in {*offspring(), *others}:
        with suppress(OSError, IndexError):
            if pid not in but and _text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] not in "ZX":
                names.append(_text(f"/proc/{pid}/comm").strip())
    return names


def offspring() -> list[int]:
    """Our children, those that ended and were not waited for too."""
    try:
        return [int(word) for word in _text(f"/proc/self/task/{os.getpid()}/children").split()]
    except OSError:  # a kernel without such lists
        return [pid for pid in _processes() if _number(pid, _PARENT) == os.getpid()]


def session(leader: int) -> list[int]:
    """The processes of a session, whose leader may have ended."""
    return [pid for pid in _processes() if _number(pid, _SESSION) == leader]


def _processes() -> Iterator[int]:
    return map(int, filter(str.isdecimal, _folders("/proc")))


def _folders(path: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(path)  # noqa: PTH208
    return []


def _number(pid: int, which: int) -> int:
    """A field of /proc/PID/stat, counted from the state on; 0 for a process that is gone."""
    with suppress(OSError, IndexError, ValueError):
        return int(_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[which])
    return 0


def tree(pid: int) -> Iterator[int]:
    """A process and its offspring; those whose parent has ended belong to us, their reaper."""
    waiting = _children(os.getpid())
    if pid not in waiting:
        waiting.append(pid)
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += _children(pid)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with suppress(OSError):
                children += [int(word) for word in _text(f"/proc/{pid}/task/{task}/children").split()]
    return children


def _peak_bytes(pid: int) -> int:
    """The most memory that a process has held since it began its program; 0 for one that has ended."""
    words = _field(_text(f"/proc/{pid}/status"), "VmHWM:").split()
    return int(words[0]) * 1024 if words else 0


def _ran(folder: str, stat: Sequence[str]) -> int:
    """Nanoseconds that a thread has run; by the clock's ticks where the kernel does not count them."""
    with suppress(OSError):
        return int(_text(f"{folder}/schedstat").split()[0])
    return (int(stat[11]) + int(stat[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def _field(status: str, name: str) -> str:
    return next((line[len(name) :].strip() for line in status.splitlines() if line.startswith(name)), "")


def _text(path: str) -> str:
    with open(path, errors="replace") as file:  # noqa: PTH123
        return file.read()

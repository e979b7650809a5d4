"""The kernel's counters for one process and its threads, through perf_event_open(2).

Only small parts of the standard library are used here: the process that starts the programs (`starter`)
loads this file by itself and must stay small. A counter that cannot be opened, never ran, or reads 0 where
that cannot be, is None with a reason and a remedy; it is never 0.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

Counted = dict[str, int | str | None]

_SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_HARDWARE, _SOFTWARE, _CACHE = 0, 1, 3
_LAST_LEVEL_LOADS, _MISSES = 2, 1 << 16
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _ENABLE_ON_EXEC = (
    1 << bit for bit in (0, 1, 5, 6, 12)
)
_READ_TIMES = 3  # time enabled and time running: they show when a counter had to share its register
_CLOSE_ON_EXEC = 8
_ATTRIBUTE_BYTES = 64  # the first published size of perf_event_attr, which every kernel accepts

HARDWARE: Mapping[str, tuple[int, int]] = {
    "cycles": (_HARDWARE, 0),  # by the CPU time they give the clock
    "cache_references": (_HARDWARE, 2),
    "cache_misses": (_HARDWARE, 3),
    "llc_loads": (_CACHE, _LAST_LEVEL_LOADS),
    "llc_load_misses": (_CACHE, _LAST_LEVEL_LOADS | _MISSES),
}
SOFTWARE: Mapping[str, tuple[int, int]] = {"context_switches": (_SOFTWARE, 3), "migrations": (_SOFTWARE, 4)}
_MISSES_OF = {"cache_references": "cache_misses", "llc_loads": "llc_load_misses"}
_NO_ZERO_AFTER_SECONDS = 0.05

_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_DEVICES = "/sys/bus/event_source/devices"


class Counters:
    """Counters of a process before its exec: they start there and follow its threads and children."""

    def __init__(self, pid: int) -> None:
        self._descriptors: dict[str, list[int]] = {}
        self._reasons: dict[str, str] = {}
        self._scope = "user and kernel"
        for name, (kind, config) in SOFTWARE.items():
            # With the kernel left out these two would count nothing at all: rather None than a false 0.
            self._open(name, kind, [config], pid, 0)
        for name, (kind, config) in HARDWARE.items():
            configs = [config | core << 32 for core in _core_units()]
            if not self._open(name, kind, configs, pid, 0) and self._open(
                name, kind, configs, pid, _EXCLUDE_KERNEL
            ):
                self._scope = "user"

    def read(self, cpu_seconds: float) -> tuple[Counted | None, str | None, Counted]:
        """Read and close when the process has ended: hardware counters, why some lack, software counters.

        `cpu_seconds` is the CPU time of the process; it tells a true 0 from a counter that is dead.
        """
        values = {name: self._read(name) for name in (*HARDWARE, *SOFTWARE)}
        self.close()
        if values["cycles"] == 0 and cpu_seconds > _NO_ZERO_AFTER_SECONDS:
            values["cycles"] = None
            self._reasons["cycles"] = f"cycles reads 0 after {cpu_seconds:.2f} s of work"
        for name, misses in _MISSES_OF.items():
            if values[name] == 0 and cpu_seconds > _NO_ZERO_AFTER_SECONDS:
                values[name] = values[misses] = None
                self._reasons[name] = (
                    f"{name} reads 0 after {cpu_seconds:.2f} s of work, so it counts nothing here"
                )
        software: Counted = {name: values[name] for name in SOFTWARE}
        hardware: Counted = {name: values[name] for name in HARDWARE}
        reason = next((self._reasons[name] for name in HARDWARE if name in self._reasons), None)
        if all(value is None for value in hardware.values()):
            return None, reason, software
        return {**hardware, "scope": self._scope}, reason, software

    def close(self) -> None:
        """Close what is open; nothing can be read after that."""
        for descriptor in (each for several in self._descriptors.values() for each in several):
            os.close(descriptor)
        self._descriptors.clear()

    def _open(self, name: str, kind: int, configs: list[int], pid: int, exclude: int) -> bool:
        """One counter, on each kind of core if there are several; False, and a reason, if one is refused."""
        opened: list[int] = []
        for config in configs:
            flags = _DISABLED | _INHERIT | _ENABLE_ON_EXEC | _EXCLUDE_HYPERVISOR | exclude
            descriptor = open_event(kind, config, pid=pid, cpu=-1, flags=flags, read_format=_READ_TIMES)
            if descriptor < 0:
                for earlier in opened:
                    os.close(earlier)
                self._reasons.setdefault(name, refusal(-descriptor))
                return False
            opened.append(descriptor)
        self._descriptors[name] = opened
        self._reasons.pop(name, None)
        return True

    def _read(self, name: str) -> int | None:
        """The sum over kinds of core, scaled up for the time in which the counter had no register."""
        total, ran = 0, False
        for descriptor in self._descriptors.get(name, ()):
            value, enabled, running = struct.unpack("3Q", os.read(descriptor, 24))
            if running > 0:
                total += round(value * enabled / running)
                ran = True
        if name in self._descriptors and not ran:
            self._reasons[name] = f"{name} never got a register. Stop other users of the counters"
        return total if ran else None


def refusal(code: int) -> str:
    """Why the kernel refused a counter, and what to do about it, from the error number of perf_event_open."""
    if code in (errno.EACCES, errno.EPERM):
        level = _text(_PARANOID) or "unknown"
        return (
            f"the kernel allows no counters (perf_event_paranoid is {level}; a container may forbid them). "
            "Run: sudo sysctl kernel.perf_event_paranoid=1"
        )
    if code in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL):
        return "this machine shows no such counter, like most virtual machines. Measure on the bare machine"
    if code == errno.ENOSYS:
        return "perf_event_open is not there (another architecture or a sandbox). Measure outside the sandbox"
    return f"perf_event_open fails: {os.strerror(code)}. Look for that error in perf_event_open(2)"


def open_event(kind: int, config: int, *, pid: int, cpu: int, flags: int, read_format: int) -> int:
    """The system call perf_event_open: a descriptor, or minus the error number."""
    number = _SYSCALL.get(os.uname().machine)
    if number is None:
        return -errno.ENOSYS
    attribute = struct.pack("IIQQQQQIIQ", kind, _ATTRIBUTE_BYTES, config, 0, 0, read_format, flags, 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = int(library.syscall(number, attribute, pid, cpu, -1, ctypes.c_ulong(_CLOSE_ON_EXEC)))
    return descriptor if descriptor >= 0 else -ctypes.get_errno()


def _core_units() -> list[int]:
    """The types of the cores' counter units, one for each kind of core; [0] where all are alike."""
    names = sorted(os.listdir(_DEVICES)) if os.path.isdir(_DEVICES) else []  # noqa: PTH112, PTH208
    units = [
        int(kind)
        for name in names
        if name in ("cpu_core", "cpu_atom", "cpu_lowpower") or name.startswith("armv")
        if (kind := _text(f"{_DEVICES}/{name}/type")).isdigit()
    ]
    return units if len(units) > 1 else [0]


def _text(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""

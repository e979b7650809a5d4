"""Who else used the machine while a benchmark ran, so that a figure taken on a busy machine says so."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.measuring.inside.starter import cpu_times

NOTICED_SHARE = 0.03
_NAMED = 3


@dataclass(frozen=True)
class _Snapshot:
    seconds: float
    busy_seconds: float
    steal_seconds: float
    own_seconds: float
    processes: dict[int, tuple[str, int, float]]  # pid: name, parent, CPU seconds


class LoadWatch:
    """Counts the CPU time of others between its making and `end`.

    Ours is what this process used and what its children had used when they ended; so `end` is called once all
    of them have. Where /proc does not tell, the shares are None.
    """

    def __init__(self, monotonic_seconds: float) -> None:
        self._before = _snapshot(monotonic_seconds)

    def end(self, monotonic_seconds: float) -> dict[str, Any]:
        """Shares of the machine's CPU time that others and the hypervisor took, and who they were."""
        before, after = self._before, _snapshot(monotonic_seconds)
        if before is None or after is None:
            return {"loaded": None, "others_share": None, "steal_share": None, "processes": []}
        capacity = max(after.seconds - before.seconds, 1e-3) * (os.cpu_count() or 1)
        own = after.own_seconds - before.own_seconds
        others = max(0.0, after.busy_seconds - before.busy_seconds - own) / capacity
        steal = (after.steal_seconds - before.steal_seconds) / capacity
        return {
            "loaded": others > NOTICED_SHARE or steal > NOTICED_SHARE,
            "others_share": round(others, 4),
            "steal_share": round(steal, 4),
            "load_average": os.getloadavg()[0],
            "processes": _busiest(before, after),
        }


def sentence(load: dict[str, Any] | None) -> str:
    """What a reader must know of the load, empty for a quiet machine."""
    if not load or not load["loaded"]:
        return ""
    who = f" ({', '.join(load['processes'])})" if load["processes"] else ""
    return (
        f"the machine was loaded: others took {100 * load['others_share']:.0f} % of the CPU time{who}, "
        f"the hypervisor {100 * load['steal_share']:.0f} %"
    )


def _snapshot(seconds: float) -> _Snapshot | None:
    times = cpu_times()
    if times is None:
        return None
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own_seconds = sum(usage.ru_utime + usage.ru_stime for usage in own)
    return _Snapshot(seconds, *times, own_seconds, _processes())


def _processes() -> dict[int, tuple[str, int, float]]:
    ticks = os.sysconf("SC_CLK_TCK")
    found: dict[int, tuple[str, int, float]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue  # it has ended meanwhile
        name, _, rest = text.partition("(")[2].rpartition(")")
        words = rest.split()
        found[int(folder.name)] = (name, int(words[1]), (int(words[11]) + int(words[12])) / ticks)
    return found


def _busiest(before: _Snapshot, after: _Snapshot) -> list[str]:
    """Names of those that used most, of the processes that are alive now; ours are left out."""
    used: dict[str, float] = {}
    for pid, (name, _, seconds) in after.processes.items():
        if not _is_ours(pid, after.processes):
            earlier = before.processes.get(pid)
            gone = seconds - (earlier[2] if earlier is not None and earlier[0] == name else 0.0)
            used[name] = used.get(name, 0.0) + gone
    ranked = sorted(used.items(), key=lambda item: -item[1])
    limit = NOTICED_SHARE * (after.seconds - before.seconds)
    return [name for name, seconds in ranked[:_NAMED] if seconds > limit]


def _is_ours(pid: int, processes: dict[int, tuple[str, int, float]]) -> bool:
    while pid in processes:
        if pid == os.getpid():
            return True
        pid = processes[pid][1]
    return False

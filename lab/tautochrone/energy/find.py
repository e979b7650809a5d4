"""The best meter of a machine: perf, powercap, hwmon, battery, each believed only after a probe."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tautochrone.energy.battery import open_battery
from tautochrone.energy.hwmon import open_hwmon
from tautochrone.energy.meter import Chosen, Meter, Unavailable
from tautochrone.energy.perf import KernelEvent, OpenEvent, open_perf
from tautochrone.energy.powercap import open_powercap
from tautochrone.energy.probe import Busy, probe, spin
from tautochrone.energy.surroundings import Surroundings, nothing_listed
from tautochrone.energy.tree import Tree


@dataclass(frozen=True)
class Found:
    """A meter, or why there is none. `tried`: each source that did not do, with its reason."""

    meter: Chosen | None
    unavailable: Unavailable | None
    tried: tuple[tuple[str, Unavailable], ...] = ()
    notices: tuple[str, ...] = ()


def find_meter(
    tree: Tree | None = None,
    *,
    opener: OpenEvent = KernelEvent,
    busy: Busy = spin,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """Open and probe the sources in their order; takes 0.3 s for each that opens.

    Without a meter the reason is that of the first source that is listed: the one that would be best.
    """
    tree = tree or Tree()
    where = Surroundings.of(tree)
    tried: list[tuple[str, Unavailable]] = []
    for source, opened in (
        ("perf", lambda: open_perf(tree, opener)),
        ("powercap", lambda: open_powercap(tree, where)),
        ("hwmon", lambda: open_hwmon(tree, clock)),
        ("battery", lambda: open_battery(tree, clock)),
    ):
        meter = _opened(opened)
        if meter is None:
            continue
        if isinstance(meter, Unavailable):
            tried.append((source, meter))
            continue
        believed = probe(meter, where, busy, clock)
        if isinstance(believed, Chosen):
            blurred = where.notices() if source in ("perf", "powercap") else ()
            return Found(believed, None, tuple(tried), blurred)
        meter.close()
        tried.append((source, believed))
    reason = tried[0][1] if tried else nothing_listed(tree, where)
    return Found(None, reason, tuple(tried))


def _opened(opened: Callable[[], Meter | Unavailable | None]) -> Meter | Unavailable | None:
    """The meter of a source. A file that describes a meter may be closed as well as the one that counts."""
    try:
        return opened()
    except PermissionError as error:
        return Unavailable(
            f"only the administrator may read {error.filename}",
            f"Allow it until the next boot: sudo chmod a+r {error.filename}",
        )

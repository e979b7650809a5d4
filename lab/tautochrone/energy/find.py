"""The best meter of a machine: perf, powercap, hwmon, battery, each believed only after a probe.

A meter that opens is not a meter that works: virtual machines list energy events that read exactly 0 J. So
none is believed until it counts while a CPU works. A meter outside of the machine is one that the user names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tautochrone.energy.battery import open_battery
from tautochrone.energy.hwmon import open_hwmon
from tautochrone.energy.meter import (
    OUTSIDE_VARIABLE,
    Beside,
    Chosen,
    Domain,
    Meter,
    MeterError,
    Tree,
    Unavailable,
    counted,
    total_name,
)
from tautochrone.energy.perf import KernelEvent, OpenEvent, open_perf
from tautochrone.energy.powercap import masked, open_powercap
from tautochrone.errors import TautoError, say

if TYPE_CHECKING:
    from tautochrone.energy.outside import OutsideMeter

Objective = Literal["time", "energy", "edp", "ed2p"]
"""What is to be made small; all but time need a meter."""

OBJECTIVES: tuple[Objective, ...] = ("time", "energy", "edp", "ed2p")

PROBE_SECONDS = 0.3
_COARSE_UNIT_JOULES = 1.0
# A counter of 61 µJ steps stands at a whole joule once in 16,384 readings, one of 1 J always.
_EXACT = 1e-9
# A counter that a busy CPU moves by no more than this part counts something else, such as time. Noise makes a
# true one differ by more, even where many other CPUs are busy.
_NO_REACTION = 0.002
# Two counters of the same package are read some milliseconds apart.
_MOST_DISAGREEMENT = 0.1

Busy = Callable[[float], None]


@dataclass(frozen=True)
class Found:
    """A meter, or why there is none. `tried`: each source that did not do, with its reason."""

    meter: Chosen | None
    unavailable: Unavailable | None
    tried: tuple[tuple[str, Unavailable], ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def why(self) -> Unavailable:
        return self.unavailable or Unavailable("no meter")


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def find_meter(
    tree: Tree | None = None,
    *,
    opener: OpenEvent = KernelEvent,
    busy: Busy = spin,
    idle: Busy = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """Open and probe the sources in their order; takes 0.6 s for each that opens, and 0.3 s to compare two.

    Each is read while a CPU idles and while it works. The first that is believed is compared with the next
    that opens. Without a meter the reason is that of the first source that is listed: the one that would be
    best.

    A meter outside, which TAUTO_METER names, decides alone, or is read beside one of the packages; watching
    it takes 4 s more. TautoError where it does not do: who names a meter wants its joules.
    """
    tree = tree or Tree()
    if words := os.environ.get(OUTSIDE_VARIABLE):
        return _with_outside(words, tree, opener, busy, idle, clock)
    return _inside(tree, opener, busy, idle, clock)


def _inside(tree: Tree, opener: OpenEvent, busy: Busy, idle: Busy, clock: Callable[[], float]) -> Found:
    """The best of the meters that the system lists."""
    where = Surroundings.of(tree)
    tried: list[tuple[str, Unavailable]] = []
    sources: tuple[tuple[str, Callable[[], Meter | Unavailable | None]], ...] = (
        ("perf", lambda: open_perf(tree, opener)),
        ("powercap", lambda: open_powercap(tree, in_container=where.container)),
        ("hwmon", lambda: open_hwmon(tree, clock)),
        ("battery", lambda: open_battery(tree, clock)),
    )
    for place, (source, open_source) in enumerate(sources):
        meter = _opened(open_source)
        if meter is None:
            continue
        if isinstance(meter, Unavailable):
            tried.append((source, meter))
            continue
        believed = _probe(meter, where, busy, idle, clock)
        if isinstance(believed, Chosen):
            doubt = _disagreement(
                believed, [open_other for _, open_other in sources[place + 1 :]], busy, clock
            )
            if doubt is not None:
                meter.close()
                return Found(None, doubt, tuple(tried))
            notices = where.notices() if source in ("perf", "powercap") else ()
            return Found(believed, None, tuple(tried), notices)
        meter.close()
        tried.append((source, believed))
    reason = tried[0][1] if tried else _nothing_listed(tree, where)
    return Found(None, reason, tuple(tried))


def check_objective(objective: str, found: Found, warn: Callable[[str], None]) -> None:
    """Without a meter an objective of energy is a TautoError with the reason.

    `warn` gets the notices of a meter that is there. That there is none is for `tauto machine` and `tauto
    energy` to say, and no warning of what did not ask for joules.
    """
    if objective not in OBJECTIVES:
        raise TautoError(f"there is no objective {objective!r}", f"Use one of {', '.join(OBJECTIVES)}")
    if found.unavailable is None:
        for notice in found.notices:
            warn(notice)
        return
    if objective != "time":
        raise TautoError(
            f"{objective} is the objective, and there is no energy meter: {found.unavailable.reason}",
            found.unavailable.remedy,
        )


def _opened(open_source: Callable[[], Meter | Unavailable | None]) -> Meter | Unavailable | None:
    """The meter of a source. The files that describe it may be closed as well as those that count."""
    try:
        return open_source()
    except MeterError as error:
        return error.unavailable
    except PermissionError as error:
        return Unavailable(
            f"only the administrator may read {error.filename}",
            f"Allow it until the next boot: sudo chmod a+r {error.filename}",
        )


# -- a meter outside --


def _with_outside(
    words: str, tree: Tree, opener: OpenEvent, busy: Busy, idle: Busy, clock: Callable[[], float]
) -> Found:
    """The named meter, beside the inside one if that counts packages or the platform."""
    from tautochrone.energy.devices import named
    from tautochrone.energy.outside import OutsideMeter

    device = named(words)
    inside = Found(None, None)
    outside = None
    try:
        outside = OutsideMeter(device, clock)
        inside = _inside(tree, opener, busy, idle, clock)
        notices = _watched(outside, words, busy, idle)
        if inside.meter is None or total_name(inside.meter.domains) in ("node", "battery"):
            _close(inside.meter)
            return Found(Chosen(outside, [domain.name for domain in outside.domains]), None, (), notices)
        doubt = _compared(inside.meter, outside, busy, clock)
        if doubt is not None:
            raise MeterError(doubt.reason, f"Look whether this machine is plugged into {words}")
        both = Beside(inside.meter, outside)
        believed = Chosen(both, [domain.name for domain in both.domains])
        return replace(inside, meter=believed, notices=(*inside.notices, *notices))
    except BaseException as error:
        _close(inside.meter)
        _close(outside)
        if isinstance(error, MeterError):
            why = error.unavailable
            raise TautoError(why.reason, f"{why.remedy}, or unset {OUTSIDE_VARIABLE}") from error
        raise


def _watched(outside: OutsideMeter, words: str, busy: Busy, idle: Busy) -> tuple[str, ...]:
    """Notices on a meter that was seen at rest and at work, each for as long as its figure may be late."""
    lag = outside.lag_seconds
    say(f"watching the meter {words} for {2 * lag:.0f} s, at rest and while a CPU works")
    idle(lag)
    rest = outside.watts
    busy(lag)
    work = outside.watts
    if abs(work / rest - 1) >= _NO_REACTION:
        return ()
    return (
        f"the meter {words} shows {work:.4g} W while a CPU works and {rest:.4g} W while it does not: look "
        "whether this machine is plugged into it",
    )


def _close(meter: Meter | None) -> None:
    if meter is not None:
        meter.close()


# -- where we run --

_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_WORDS = ("docker", "kubepods", "libpod", "lxc", "containerd")
_IN_A_VM = (
    "Measure on the host, have it pass its meters in (QEMU: -accel kvm,rapl=true), or name a smart plug in "
    f"{OUTSIDE_VARIABLE}"
)


@dataclass(frozen=True)
class Surroundings:
    """`hypervisor`: inside a virtual machine. `filtered`: SGX is on, and the processor blurs its counters."""

    hypervisor: bool = False
    container: bool = False
    filtered: bool = False

    @classmethod
    def of(cls, tree: Tree) -> Surroundings:
        """Read them from /proc and /dev."""
        flags = _flags(tree.text("/proc/cpuinfo") or "")
        try:
            groups = tree.text("/proc/1/cgroup") or ""
        except PermissionError:  # /proc is mounted with hidepid=1
            groups = ""
        return cls(
            hypervisor="hypervisor" in flags or tree.exists("/sys/hypervisor/type"),
            container=any(tree.exists(path) for path in _CONTAINER_FILES)
            or any(word in groups for word in _CONTAINER_WORDS),
            filtered="sgx" in flags and tree.exists("/dev/sgx_enclave"),
        )

    def notices(self) -> tuple[str, ...]:
        """What a reader of the joules must know."""
        if not self.filtered:
            return ()
        return (
            "SGX is on, and with it the processor filters its energy counters: single readings may be wrong "
            "by half. Switch SGX off in the firmware's set-up, or look whether the filter is off: "
            "sudo rdmsr --bitfield 0:0 0xbc (0 is off)",
        )


def _flags(cpuinfo: str) -> set[str]:
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return set(value.split())
    return set()


def _nothing_listed(tree: Tree, where: Surroundings) -> Unavailable:
    if where.hypervisor:
        return Unavailable("this is a virtual machine that shows no energy meter", _IN_A_VM)
    if where.container:
        return masked()
    driver = "amd_energy" if "AuthenticAMD" in (tree.text("/proc/cpuinfo") or "") else "intel_rapl_msr"
    return Unavailable("the system lists no energy meter", f"Load the driver: sudo modprobe {driver}")


# -- the probe --


def _probe(
    meter: Meter, where: Surroundings, busy: Busy, idle: Busy, clock: Callable[[], float]
) -> Chosen | Unavailable:
    """The meter with the domains that count, or why it is not believed."""
    try:
        first, rested = meter.read(), clock()
        idle(PROBE_SECONDS)
        before, begun = meter.read(), clock()
        busy(PROBE_SECONDS)
        after, seconds = meter.read(), clock() - begun
    except MeterError as error:
        return error.unavailable
    doubts = {
        domain: doubt
        for domain in meter.domains
        if (doubt := _doubt(meter, domain, before, after, seconds, where)) is not None
    }
    believed = [domain for domain in meter.domains if domain not in doubts]
    if counted(believed):
        idle_watts = _watts(believed, first, before, begun - rested)
        busy_watts = _watts(believed, before, after, seconds)
        if not meter.integrates and idle_watts and abs(busy_watts / idle_watts - 1) < _NO_REACTION:
            return Unavailable(
                f"{meter.source} shows {busy_watts:.4g} W while a CPU works and {idle_watts:.4g} W while it "
                "does not, so it counts something else",
                "Use another meter: tauto machine lists them",
                doubted=True,
            )
        return Chosen(meter, [domain.name for domain in believed])
    for domain in counted(meter.domains):
        if domain in doubts:
            return doubts[domain]
    names = ", ".join(domain.name for domain in meter.domains)
    return Unavailable(
        f"{meter.source} counts only parts of the machine ({names}), and their readings cannot be summed",
        "Use a meter of the whole package, node or battery",
    )


def _watts(
    domains: Iterable[Domain], before: Mapping[str, float], after: Mapping[str, float], seconds: float
) -> float:
    """The mean of the total; 0 for no time."""
    joules = sum(after[domain.name] - before[domain.name] for domain in counted(domains))
    return joules / seconds if seconds > 0 else 0.0


def _disagreement(
    meter: Chosen,
    others: Iterable[Callable[[], Meter | Unavailable | None]],
    busy: Busy,
    clock: Callable[[], float],
) -> Unavailable | None:
    """Why a meter is doubted beside the next one that opens, while a CPU works; None if they agree."""
    for open_other in others:
        other = _opened(open_other)
        if other is None or isinstance(other, Unavailable):
            continue
        try:
            doubt = _compared(meter, other, busy, clock)
        except MeterError:
            continue
        finally:
            other.close()
        if doubt is not None:
            return doubt
    return None


def _compared(meter: Chosen, other: Meter, busy: Busy, clock: Callable[[], float]) -> Unavailable | None:
    """What both show while a CPU works, if that cannot both be true. MeterError where one fails."""
    ours_before, theirs_before, begun = meter.read(), other.read(), clock()
    busy(PROBE_SECONDS)
    ours, theirs, seconds = meter.read(), other.read(), clock() - begun
    return _apart(meter, other, (ours_before, ours), (theirs_before, theirs), seconds)


Readings = tuple[Mapping[str, float], Mapping[str, float]]


def _apart(
    meter: Meter, other: Meter, ours: Readings, theirs: Readings, seconds: float
) -> Unavailable | None:
    """What two meters of one machine show that cannot both be true over these seconds.

    The same package or memory must show the same watts. The whole node, and the battery that alone feeds it,
    cannot draw less than a part of it.
    """
    if seconds <= 0:
        return None
    for domain in counted(meter.domains):
        same = next(
            (one for one in other.domains if (one.name, one.kind) == (domain.name, domain.kind)), None
        )
        if same is None or other.integrates:
            continue
        one, two = (last[domain.name] - first[domain.name] for first, last in (ours, theirs))
        if two > 0 and abs(one - two) > _MOST_DISAGREEMENT * max(one, two):
            return _two_words(meter, other, domain.name, one / seconds, domain.name, two / seconds)
    whole = [domain for domain in counted(other.domains) if domain.kind in ("node", "battery")]
    if whole and any(domain.kind == "package" for domain in meter.domains):
        part = _watts(meter.domains, *ours, seconds)
        total = _watts(whole, *theirs, seconds)
        # Its sensor may be a second behind.
        if 0 < total < part / 2:
            return _two_words(meter, other, total_name(meter.domains), part, total_name(whole), total)
    return None


def _two_words(
    meter: Meter, other: Meter, name: str, watts: float, other_name: str, other_watts: float
) -> Unavailable:
    return Unavailable(
        f"two meters disagree: {meter.source} shows {watts:.3g} W of {name}, and {other.source} "
        f"{other_watts:.3g} W of {other_name}",
        "Unload the driver of the one that is wrong, and measure again",
        doubted=True,
    )


def _doubt(
    meter: Meter,
    domain: Domain,
    before: Mapping[str, float],
    after: Mapping[str, float],
    seconds: float,
    where: Surroundings,
) -> Unavailable | None:
    """Why a domain is not believed; None if it is."""
    name = f"{meter.source} {domain.name}"
    joules = after[domain.name] - before[domain.name]
    if joules == 0.0:
        work = f"through {seconds:.1f} s of work"
        if where.hypervisor:
            return Unavailable(
                f"{name} opens but reads 0 J {work}: this is a virtual machine without a meter", _IN_A_VM
            )
        return Unavailable(
            f"{name} opens but stands still {work}",
            "Look for messages of its driver: sudo dmesg | grep -i rapl",
        )
    if joules < 0.0:
        return Unavailable(
            f"{name} went back by {-joules:g} J while a CPU worked",
            "Use another meter, or a newer kernel for this processor",
        )
    watts = joules / seconds
    if watts > domain.largest_watts:
        return Unavailable(
            f"{name} shows {watts:.0f} W, more than the {domain.largest_watts:.0f} W that can be",
            "Use another meter, or a newer kernel that knows this processor's unit",
        )
    steps = joules / _COARSE_UNIT_JOULES
    if not meter.integrates and abs(steps - round(steps)) < _EXACT:
        return Unavailable(
            f"{name} counts in steps of 1 J, which is too coarse for a run",
            "Use another meter: tauto machine lists them",
        )
    return None

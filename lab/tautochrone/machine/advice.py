"""Advice on a machine before measuring: what can spoil the measurements, and the remedy."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from tautochrone import text
from tautochrone.machine.record import Machine, MeasuredCpu
from tautochrone.options import format_cpus

# 0.1 ms lost in one millisecond of a hundred is 10 % of the time of a short loop.
NOISY_P99_SECONDS = 1e-4
NOISY_LARGEST_SECONDS = 2e-3
STEAL_NOTICED = 0.01
UNEQUAL_SPEED = 0.9  # relative to the fastest: below this a static loop loses more time than it gains
_DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd-pstate")


class Advice(msgspec.Struct, frozen=True):
    """One finding. ``remedy`` is empty if nothing needs to be done."""

    topic: str
    finding: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.finding}. {self.remedy}" if self.remedy else self.finding


def advise(machine: Machine) -> list[Advice]:
    """Findings on a machine. Those that spoil measurements come first."""
    rules: tuple[Callable[[Machine], Iterable[Advice]], ...] = (
        *(_emulation, _quota, _affinity, _steal, _noise, _governor, _turbo),
        *(_kinds, _unequal, _smt, _numa, _counters, _energy),
    )
    return [advice for rule in rules for advice in rule(machine)]


def _emulation(machine: Machine) -> Iterator[Advice]:
    if machine.emulated:
        slowed = ", ".join(f"CPU {cpu.cpu} {cpu.factor:g} times" for cpu in machine.emulated)
        yield Advice(
            "emulation", f"Slowed by tauto emulate: {slowed}", "Do not compare these figures with real cores"
        )


def _quota(machine: Machine) -> Iterator[Advice]:
    allowed = len(machine.allowed_cpus)
    if machine.quota_cpus is None or machine.quota_cpus >= allowed:
        return
    yield Advice(
        "quota",
        f"{allowed} CPUs are allowed but the quota pays for {machine.quota_cpus:g} of them "
        f"({machine.quota_source}): with more than {text.count(machine.usable_members, 'thread')} "
        "the kernel stops all of them for part of every period",
        f"Raise the quota (docker run --cpus {allowed}; systemd CPUQuota={100 * allowed} %), "
        f"or use {text.count(machine.usable_members, 'thread')}: tauto run --fit -- COMMAND",
    )


def _affinity(machine: Machine) -> Iterator[Advice]:
    missing = len(machine.cpus) - len(machine.allowed_cpus)
    if not missing:
        return
    if machine.cpuset is not None and len(machine.cpuset) < len(machine.cpus):
        cause = f"the cpuset ({machine.cpuset_source})"
        remedy = "Widen the cpuset (docker run --cpuset-cpus) to use the others"
    else:
        cause = "the affinity mask of this process"
        remedy = "Start from a shell that taskset has not restricted to use the others"
    yield Advice(
        "affinity",
        f"Of {len(machine.cpus)} CPUs only {format_cpus(machine.allowed_cpus)} may be used, "
        f"because of {cause}",
        remedy,
    )


def _measured(machine: Machine) -> tuple[MeasuredCpu, ...]:
    return machine.measured.cpus if machine.measured else ()


def _steal(machine: Machine) -> Iterator[Advice]:
    stolen = [cpu for cpu in _measured(machine) if (cpu.steal_fraction or 0.0) >= STEAL_NOTICED]
    if not stolen:
        return
    listed = ", ".join(f"CPU {cpu.cpu} {text.percent(cpu.steal_fraction)}" for cpu in stolen)
    yield Advice(
        "steal",
        f"The host gave time of this virtual machine to others: {listed}",
        "Ask for dedicated CPUs, or measure at a quieter time and in more rounds",
    )


def _noise(machine: Machine) -> Iterator[Advice]:
    noisy = {cpu.cpu: _gaps(cpu) for cpu in _measured(machine) if _is_noisy(cpu)}
    quiet = [number for number in machine.allowed_cpus if number not in noisy]
    if noisy and not quiet:
        largest = max(largest for largest, _ in noisy.values())
        usual = max(usual for _, usual in noisy.values())
        everyone = "every CPU is" if len(noisy) > 1 else f"CPU {next(iter(noisy))} is"
        yield Advice(
            "noise",
            f"{everyone[0].upper()}{everyone[1:]} noisy: stopped while only spinning for up to "
            f"{text.seconds(largest)}, and in one millisecond of a hundred for {text.seconds(usual)} or more",
            "Close other programs (top shows them), or measure in more rounds",
        )
        return
    for cpu, (largest, usual) in noisy.items():
        yield Advice(
            "noise",
            f"CPU {cpu} is noisy: stopped while only spinning for up to {text.seconds(largest)}, and in one "
            f"millisecond of a hundred for {text.seconds(usual)} or more",
            f"See who runs there (ps -eLo psr,pcpu,comm | awk '$1 == {cpu}'), or leave it out: "
            f"TAUTO_CPUS={format_cpus(quiet)}",
        )


def _gaps(cpu: MeasuredCpu) -> tuple[float, float]:
    return cpu.noise_largest_gap_seconds or 0.0, cpu.noise_p99_gap_seconds or 0.0


def _is_noisy(cpu: MeasuredCpu) -> bool:
    largest, usual = _gaps(cpu)
    return usual >= NOISY_P99_SECONDS or largest >= NOISY_LARGEST_SECONDS


def _governor(machine: Machine) -> Iterator[Advice]:
    governors = (machine.governor or "").split("/")
    driver = machine.frequency_driver or "unknown driver"
    if "powersave" in governors and driver.split("/")[0] in _DYNAMIC_DRIVERS:
        preference = machine.energy_performance_preference
        yield Advice(
            "governor",
            f"The governor is powersave under {driver}: the dynamic default, which clocks up under load, "
            "and not a slow mode" + (f" (preference: {preference})" if preference else ""),
        )
    elif "powersave" in governors:
        yield Advice(
            "governor",
            f"The governor is powersave under {driver}, which holds the lowest clock",
            "sudo cpupower frequency-set -g schedutil",
        )
    elif {"ondemand", "conservative"} & set(governors):
        yield Advice(
            "governor",
            f"The governor is {machine.governor}, which takes milliseconds to raise the clock",
            "For measuring: sudo cpupower frequency-set -g performance",
        )


def _turbo(machine: Machine) -> Iterator[Advice]:
    if machine.turbo is False:
        yield Advice(
            "turbo",
            "Turbo clocks are switched off: slower, but runs differ less",
            "To switch them on: echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
            if (machine.frequency_driver or "").startswith("intel")
            else "To switch them on: echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        )


def _kinds(machine: Machine) -> Iterator[Advice]:
    if len(machine.kinds) < 2:
        return
    fastest = machine.kinds[0]
    parts = []
    for kind in machine.kinds[1:]:
        speed = _relative_speed(machine, kind.cpus, fastest.cpus)
        if speed is not None:
            parts.append(f"an {kind.kind} core computes at {speed:.2f} of the speed of a {fastest.kind} core")
    counts = text.cores({kind.kind: machine.cores(kind) for kind in machine.kinds})
    yield Advice(
        "kinds",
        f"Its cores are unequal ({counts}): "
        + (", ".join(parts) if parts else "how unequal was not measured")
        + "; loops in equal shares wait for the slowest",
        "Use a schedule that balances (adaptive, dynamic); tauto study loop shows which pays here",
    )


def _relative_speed(machine: Machine, cpus: Iterable[int], reference: Iterable[int]) -> float | None:
    speeds = {cpu.cpu: cpu.compute_per_second for cpu in _measured(machine) if cpu.compute_per_second}
    these = [speeds[cpu] for cpu in cpus if cpu in speeds]
    those = [speeds[cpu] for cpu in reference if cpu in speeds]
    return statistics.median(these) / statistics.median(those) if these and those else None


def _unequal(machine: Machine) -> Iterator[Advice]:
    """CPUs that are slower than others of their kind: throttled, or shared with other programs."""
    slowed = {cpu.cpu for cpu in machine.emulated or ()}
    for kind in machine.kinds:
        speeds = {
            cpu.cpu: cpu.compute_per_second
            for cpu in _measured(machine)
            if cpu.cpu in kind.cpus and cpu.compute_per_second and cpu.cpu not in slowed
        }
        fastest = max(speeds.values(), default=0.0)
        slow = {cpu: speed / fastest for cpu, speed in speeds.items() if speed < UNEQUAL_SPEED * fastest}
        if slow:
            listed = ", ".join(f"CPU {cpu} at {speed:.2f}" for cpu, speed in slow.items())
            yield Advice(
                "speed",
                f"CPUs of the same kind computed unequally fast: {listed} of the fastest",
                "Something else runs there, or the clock is held down: look at top and at the temperature",
            )


def _smt(machine: Machine) -> Iterator[Advice]:
    shared = [kind for kind in machine.kinds if kind.hardware_threads_per_core > 1]
    if machine.smt_active is False or not shared:
        return
    names = " and ".join("each core" if kind.kind == "core" else f"each {kind.kind} core" for kind in shared)
    threads = shared[0].hardware_threads_per_core
    yield Advice(
        "smt",
        f"{names[0].upper()}{names[1:]} has {threads} hardware threads that share its units and caches: "
        "a second thread there adds far less than one on another core",
        "Use one thread a core first (TAUTO_CPUS=cores, OMP_PLACES=cores), then measure with all",
    )


def _numa(machine: Machine) -> Iterator[Advice]:
    if len(machine.numa) > 1:
        yield Advice(
            "numa",
            f"Memory lies in {len(machine.numa)} nodes; a page lies where the thread that first wrote it ran",
            "Fill arrays with the threads and the schedule that will read them",
        )


def _counters(machine: Machine) -> Iterator[Advice]:
    counters = machine.counters
    if counters.status != "available":
        finding = f"Cache misses and cycles cannot be counted: {counters.reason or 'reason unknown'}"
        yield Advice("counters", finding, _sentence(counters.remedy))


def _energy(machine: Machine) -> Iterator[Advice]:
    energy = machine.energy
    if energy.status == "unavailable":
        finding = f"Energy cannot be measured: {energy.reason or 'reason unknown'}"
        yield Advice("energy", finding, _sentence(energy.remedy))
    elif energy.status == "unproven" and machine.hypervisor is not None:
        finding = f"An energy meter is listed, but {energy.reason}"
        yield Advice("energy", finding, _sentence(energy.remedy))


def _sentence(remedy: str | None) -> str:
    return f"{remedy[0].upper()}{remedy[1:]}" if remedy and not remedy.startswith("sudo") else remedy or ""


def machine_advice(machine: Mapping[str, object]) -> tuple[str, ...]:
    """The advice of `tauto machine`; empty for an incomplete record."""
    try:
        as_it_is = msgspec.convert({**machine, "emulated": None}, Machine)  # no advice on CPUs that we slow
        return tuple(str(advice) for advice in advise(as_it_is))
    except msgspec.ValidationError:
        return ()

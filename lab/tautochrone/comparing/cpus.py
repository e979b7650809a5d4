"""``--cpus``: on which CPUs the commands run."""

from __future__ import annotations

from tautochrone.errors import TautoError
from tautochrone.machine.placements import cpus_of, layout
from tautochrone.machine.probe import read_machine
from tautochrone.machine.record import Machine
from tautochrone.options import check_cpus, parse_cpus


def chosen(words: str, machine: Machine) -> tuple[int, ...]:
    """The CPUs of a list, or of one of the words quietest, fast, slow and all.

    "quietest" measures for about a second how long each CPU is stopped while it only spins. TautoError for
    CPUs that may not be used, and for kinds that this machine has not.
    """
    if words == "quietest":
        return (quietest(read_machine("brief")),)
    if words in ("all", "fast", "slow"):
        return layout(cpus_of(machine.to_dict())[0], {}).placement(words).cpus
    if not words[:1].isdigit():
        raise TautoError(
            f"--cpus {words!r} names no CPUs", "Write quietest, fast, slow, or a list such as 0-3,8"
        )
    cpus = parse_cpus(words)
    check_cpus(cpus, machine.allowed_cpus, [cpu.cpu for cpu in machine.cpus], "--cpus")
    return cpus


def quietest(machine: Machine) -> int:
    """The CPU that is stopped least. TautoError where nothing was measured."""
    known = (
        [cpu for cpu in machine.measured.cpus if cpu.noise_p99_gap_seconds is not None]
        if machine.measured
        else []
    )
    if not known:
        raise TautoError("the noise of the CPUs could not be measured", "Name CPUs: --cpus 0")
    best = min(
        known, key=lambda cpu: (cpu.noise_p99_gap_seconds or 0.0, cpu.noise_largest_gap_seconds or 0.0)
    )
    return best.cpu

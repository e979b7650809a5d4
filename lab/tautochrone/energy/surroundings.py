"""Where a process runs, as far as it decides whether a meter can be believed."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.energy.meter import Unavailable
from tautochrone.energy.tree import Tree

_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_WORDS = ("docker", "kubepods", "libpod", "lxc", "containerd")

IN_A_VM = "Measure on the host, or have it pass its meters in (QEMU: -accel kvm,rapl=true)"


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
            container=any(tree.exists(one) for one in _CONTAINER_FILES)
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


def nothing_listed(tree: Tree, where: Surroundings) -> Unavailable:
    """Why no meter is listed at all."""
    if where.hypervisor:
        return Unavailable("this is a virtual machine that shows no energy meter", IN_A_VM)
    if where.container:
        return masked()
    driver = "amd_energy" if "AuthenticAMD" in (tree.text("/proc/cpuinfo") or "") else "intel_rapl_msr"
    return Unavailable("the system lists no energy meter", f"Load the driver: sudo modprobe {driver}")


def masked() -> Unavailable:
    """A container that hides the meters of its host."""
    return Unavailable(
        "the container masks the energy meters of its host (/sys/devices/virtual/powercap)",
        "Start it with --security-opt systempaths=unconfined (docker) or "
        "--security-opt unmask=/sys/devices/virtual/powercap (podman)",
    )


def _flags(cpuinfo: str) -> set[str]:
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return set(value.split())
    return set()

"""Writes the parts of /sys and /proc by which Linux describes a machine, for machines that are not here.

As a program: ``build_trees.py FOLDER`` writes every tree to FOLDER/<name>. As a module: :func:`build`.
Only text goes in: topology, caches, frequency policy, limits of control groups, counters and meters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True)
class Cache:
    level: int
    kind: str  # Data, Instruction or Unified
    size_bytes: int
    cpus: tuple[int, ...]


@dataclass
class Cpu:
    number: int
    core_id: int
    package: int = 0
    threads: tuple[int, ...] = ()  # all hardware threads of the core; empty: itself alone
    caches: Sequence[Cache] = ()
    capacity: int | None = None
    frequency: dict[str, str] = field(default_factory=dict)  # files of cpufreq


@dataclass
class Tree:
    cpus: list[Cpu]
    cpuinfo: str
    memory_bytes: int
    online: str | None = None
    allowed: str | None = None
    nodes: dict[int, tuple[int, ...]] | None = None
    files: dict[str, str] = field(default_factory=dict)  # everything else, by path


def mask(cpus: Iterable[int]) -> str:
    value = sum(1 << cpu for cpu in set(cpus))
    words = []
    while True:
        words.append(f"{value & 0xFFFFFFFF:08x}")
        value >>= 32
        if not value:
            return ",".join(reversed(words))


def cpu_list(cpus: Iterable[int]) -> str:
    return ",".join(str(cpu) for cpu in sorted(cpus))


def write_tree(root: Path, tree: Tree) -> None:
    texts: dict[str, str] = {}
    for cpu in tree.cpus:
        texts |= _cpu_files(cpu, tree)
    everyone = [cpu.number for cpu in tree.cpus]
    online = tree.online or cpu_list(everyone)
    texts["sys/devices/system/cpu/online"] = online
    texts["sys/devices/system/cpu/possible"] = cpu_list(everyone)
    texts["sys/devices/system/cpu/present"] = cpu_list(everyone)
    nodes = tree.nodes or {0: tuple(everyone)}
    texts["sys/devices/system/node/online"] = cpu_list(nodes)
    for node, cpus in nodes.items():
        texts |= _node_files(node, cpus, nodes, tree.memory_bytes // len(nodes))
    kilobytes = tree.memory_bytes // KIB
    texts["proc/cpuinfo"] = tree.cpuinfo
    texts["proc/meminfo"] = (
        f"MemTotal: {kilobytes} kB\nMemFree: {kilobytes // 2} kB\nMemAvailable: {kilobytes * 3 // 4} kB"
    )
    texts["proc/self/status"] = f"Name:\tcat\nCpus_allowed:\tff\nCpus_allowed_list:\t{tree.allowed or online}"
    texts["proc/sys/kernel/perf_event_paranoid"] = "2"
    texts["proc/sys/kernel/osrelease"] = "6.6.0-test"
    texts |= tree.files
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")


def _cpu_files(cpu: Cpu, tree: Tree) -> dict[str, str]:
    base = f"sys/devices/system/cpu/cpu{cpu.number}"
    threads = cpu.threads or (cpu.number,)
    package = [other.number for other in tree.cpus if other.package == cpu.package]
    texts = {
        f"{base}/topology/core_id": str(cpu.core_id),
        f"{base}/topology/physical_package_id": str(cpu.package),
        f"{base}/topology/thread_siblings": mask(threads),
        f"{base}/topology/thread_siblings_list": cpu_list(threads),
        f"{base}/topology/core_cpus": mask(threads),
        f"{base}/topology/core_cpus_list": cpu_list(threads),
        f"{base}/topology/core_siblings": mask(package),
        f"{base}/topology/package_cpus": mask(package),
    }
    for index, cache in enumerate(cpu.caches):
        folder = f"{base}/cache/index{index}"
        texts[f"{folder}/level"] = str(cache.level)
        texts[f"{folder}/type"] = cache.kind
        texts[f"{folder}/size"] = f"{cache.size_bytes // KIB}K"
        texts[f"{folder}/coherency_line_size"] = "64"
        texts[f"{folder}/number_of_sets"] = "64"
        texts[f"{folder}/physical_line_partition"] = "1"
        texts[f"{folder}/shared_cpu_map"] = mask(cache.cpus)
        texts[f"{folder}/shared_cpu_list"] = cpu_list(cache.cpus)
    for name, text in cpu.frequency.items():
        texts[f"{base}/cpufreq/{name}"] = text
    if cpu.capacity is not None:
        texts[f"{base}/cpu_capacity"] = str(cpu.capacity)
    return texts


def _node_files(node: int, cpus: Sequence[int], nodes: Iterable[int], memory_bytes: int) -> dict[str, str]:
    base = f"sys/devices/system/node/node{node}"
    return {
        f"{base}/cpumap": mask(cpus),
        f"{base}/cpulist": cpu_list(cpus),
        f"{base}/meminfo": f"Node {node} MemTotal: {memory_bytes // KIB} kB",
        f"{base}/distance": " ".join("10" if other == node else "21" for other in nodes),
    }


def x86_cpuinfo(model: str, cpus: int, vendor: str = "GenuineIntel", flags: str = "fpu sse2 avx2") -> str:
    return "\n\n".join(
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: {model}\nflags\t\t: {flags}"
        for cpu in range(cpus)
    )


def frequency(
    driver: str, governor: str, max_kilohertz: int, preference: str | None = None
) -> dict[str, str]:
    files = {
        "scaling_driver": driver,
        "scaling_governor": governor,
        "cpuinfo_max_freq": str(max_kilohertz),
        "cpuinfo_min_freq": "800000",
    }
    return files if preference is None else {**files, "energy_performance_preference": preference}


def private_caches(cpu: int, cpus: tuple[int, ...], data: int, instructions: int) -> list[Cache]:
    return [Cache(1, "Data", data, cpus), Cache(1, "Instruction", instructions, cpus)]


CGROUP2_MOUNT = "30 1 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw"


def i9_14900k() -> Tree:
    """Eight P cores of two hardware threads (CPUs 0-15), sixteen E cores (16-31) in clusters of four."""
    last_level = Cache(3, "Unified", 36 * MIB, tuple(range(32)))
    cpus = []
    for number in range(16):
        pair = (number // 2 * 2, number // 2 * 2 + 1)
        caches = [
            *private_caches(number, pair, 48 * KIB, 32 * KIB),
            Cache(2, "Unified", 2 * MIB, pair),
            last_level,
        ]
        # Two favoured cores clock higher.
        kilohertz = 6_000_000 if number in (8, 9, 10, 11) else 5_700_000
        policy = frequency("intel_pstate", "powersave", kilohertz, "balance_performance")
        cpus.append(Cpu(number, number // 2 * 4, 0, pair, caches, None, policy))
    for number in range(16, 32):
        cluster = tuple(range(number // 4 * 4, number // 4 * 4 + 4))
        caches = [
            *private_caches(number, (number,), 32 * KIB, 64 * KIB),
            Cache(2, "Unified", 4 * MIB, cluster),
            last_level,
        ]
        policy = frequency("intel_pstate", "powersave", 4_400_000, "balance_performance")
        cpus.append(Cpu(number, 32 + number - 16, 0, (number,), caches, None, policy))
    files = {
        "sys/devices/cpu_core/cpus": "0-15",
        "sys/devices/cpu_atom/cpus": "16-31",
        "sys/bus/event_source/devices/cpu_core/type": "4",
        "sys/bus/event_source/devices/cpu_atom/type": "10",
        "sys/bus/event_source/devices/power/type": "21",
        "sys/bus/event_source/devices/power/events/energy-pkg": "event=0x02",
        "sys/bus/event_source/devices/power/events/energy-pkg.scale": "2.3283064365386962890625e-10",
        "sys/bus/event_source/devices/power/events/energy-pkg.unit": "Joules",
        "sys/class/powercap/intel-rapl:0/name": "package-0",
        "sys/class/powercap/intel-rapl:0/energy_uj": "123456789",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
        "sys/firmware/acpi/platform_profile": "balanced",
        "sys/devices/system/cpu/smt/active": "1",
        "proc/sys/kernel/arch": "x86_64",
        "proc/self/cgroup": "0::/user.slice/user-1000.slice",
        "proc/self/mountinfo": CGROUP2_MOUNT,
        "sys/fs/cgroup/user.slice/cpu.max": "max 100000",
    }
    return Tree(cpus, x86_cpuinfo("Intel(R) Core(TM) i9-14900K", 32), 64 * GIB, files=files)


def core_ultra() -> Tree:
    """Six P cores with SMT, eight E cores, and two low-power cores that have no L3 of their own."""
    last_level = Cache(3, "Unified", 24 * MIB, tuple(range(20)))
    cpus = []
    for number in range(12):
        pair = (number // 2 * 2, number // 2 * 2 + 1)
        caches = [
            *private_caches(number, pair, 48 * KIB, 64 * KIB),
            Cache(2, "Unified", 2 * MIB, pair),
            last_level,
        ]
        cpus.append(Cpu(number, number // 2 * 8, 0, pair, caches))
    for number in range(12, 22):
        cluster = tuple(range(number // 4 * 4, min(number // 4 * 4 + 4, 22)))
        caches = [
            *private_caches(number, (number,), 32 * KIB, 64 * KIB),
            Cache(2, "Unified", 2 * MIB, cluster),
        ]
        if number < 20:
            caches.append(last_level)
        cpus.append(Cpu(number, 52 + number, 0, (number,), caches))
    files = {
        "sys/devices/cpu_core/cpus": "0-11",
        "sys/devices/cpu_atom/cpus": "12-21",
        "sys/bus/event_source/devices/cpu_core/type": "4",
        "proc/sys/kernel/arch": "x86_64",
        "sys/devices/system/cpu/smt/active": "1",
    }
    return Tree(cpus, x86_cpuinfo("Intel(R) Core(TM) Ultra 7 155H", 22), 32 * GIB, files=files)


def big_little() -> Tree:
    """Four small cores first (CPUs 0-3), then four big ones; the kernel gives capacities, no kinds."""
    last_level = Cache(3, "Unified", 3 * MIB, tuple(range(8)))
    cpus = []
    for number in range(8):
        big = number >= 4
        size = 64 * KIB if big else 32 * KIB
        caches = [
            *private_caches(number, (number,), size, size),
            Cache(2, "Unified", 512 * KIB if big else 128 * KIB, (number,)),
            last_level,
        ]
        policy = frequency("cpufreq-dt", "schedutil", 2_400_000 if big else 1_800_000)
        cpus.append(Cpu(number, number, 0, (number,), caches, 1024 if big else 530, policy))
    files = {
        "sys/bus/event_source/devices/armv8_cortex_a55/type": "8",
        "sys/bus/event_source/devices/armv8_cortex_a76/type": "9",
        "proc/sys/kernel/arch": "aarch64",
    }
    cpuinfo = (
        "\n\n".join(f"processor\t: {cpu}\nFeatures\t: fp asimd" for cpu in range(8))
        + "\n\nHardware\t: Rockchip RK3588"
    )
    return Tree(cpus, cpuinfo, 16 * GIB, files=files)


def two_sockets() -> Tree:
    """Two sockets of eight cores, a memory node each; even CPUs are on the first."""
    sockets = {package: tuple(range(package, 16, 2)) for package in (0, 1)}
    cpus = []
    for number in range(16):
        package = number % 2
        caches = [
            *private_caches(number, (number,), 32 * KIB, 32 * KIB),
            Cache(2, "Unified", 256 * KIB, (number,)),
            Cache(3, "Unified", 20 * MIB, sockets[package]),
        ]
        policy = frequency("acpi-cpufreq", "performance", 2_600_000)
        cpus.append(Cpu(number, number // 2, package, (number,), caches, None, policy))
    files = {
        "sys/bus/event_source/devices/cpu/type": "4",
        "sys/devices/system/cpu/cpufreq/boost": "1",
        "sys/devices/system/cpu/smt/active": "0",
        "proc/sys/kernel/arch": "x86_64",
    }
    cpuinfo = x86_cpuinfo("Intel(R) Xeon(R) CPU E5-2650 v2 @ 2.60GHz", 16)
    return Tree(cpus, cpuinfo, 128 * GIB, nodes=sockets, files=files)


def desktop_cpus() -> list[Cpu]:
    """Eight equal cores of two hardware threads each, siblings eight apart."""
    last_level = Cache(3, "Unified", 32 * MIB, tuple(range(16)))
    cpus = []
    for number in range(16):
        pair = (number % 8, number % 8 + 8)
        caches = [
            *private_caches(number, pair, 32 * KIB, 32 * KIB),
            Cache(2, "Unified", 512 * KIB, pair),
            last_level,
        ]
        policy = frequency("amd-pstate-epp", "powersave", 4_500_000, "performance")
        cpus.append(Cpu(number, number % 8, 0, pair, caches, None, policy))
    return cpus


def desktop(files: dict[str, str], allowed: str | None = None, online: str | None = None) -> Tree:
    common = {
        "sys/bus/event_source/devices/cpu/type": "4",
        "sys/devices/system/cpu/smt/active": "1",
        "proc/sys/kernel/arch": "x86_64",
    }
    cpuinfo = x86_cpuinfo("AMD Ryzen 7 5700G with Radeon Graphics", 16, "AuthenticAMD")
    return Tree(desktop_cpus(), cpuinfo, 32 * GIB, allowed=allowed, online=online, files={**common, **files})


def container_v2() -> Tree:
    """A container with 1.5 CPUs: the group above the process's own has the tighter quota, and a cpuset."""
    return desktop(
        {
            ".dockerenv": "",
            "proc/self/cgroup": "0::/app/worker",
            "proc/self/mountinfo": CGROUP2_MOUNT,
            "sys/fs/cgroup/app/worker/cpu.max": "400000 100000",
            "sys/fs/cgroup/app/cpu.max": "150000 100000",
            "sys/fs/cgroup/app/cpuset.cpus.effective": "0-3",
            "sys/fs/cgroup/app/memory.max": str(2 * GIB),
            "proc/sys/kernel/perf_event_paranoid": "4",
        }
    )


def container_v1() -> Tree:
    """The same in version 1, with mounts that begin at the container's own group."""
    group = "/docker/0123456789abcdef"
    mounts = [
        f"31 23 0:29 {group} /sys/fs/cgroup/cpu,cpuacct ro,relatime - cgroup cgroup rw,cpu,cpuacct",
        f"32 23 0:30 {group} /sys/fs/cgroup/cpuset ro,relatime - cgroup cgroup rw,cpuset",
        f"33 23 0:31 {group} /sys/fs/cgroup/memory ro,relatime - cgroup cgroup rw,memory",
    ]
    return desktop(
        {
            "proc/self/cgroup": f"4:memory:{group}\n3:cpuset:{group}\n1:cpu,cpuacct:{group}",
            "proc/self/mountinfo": "\n".join(mounts),
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "75000",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "50000",
            "sys/fs/cgroup/cpuset/cpuset.cpus": "4-7",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        }
    )


def large_container() -> Tree:
    """A container with 1.5 of 224 CPUs: two sockets of 56 cores, siblings 112 apart, three groups deep."""
    cpus = [
        Cpu(number, number % 56, number // 56 % 2, (number % 112, number % 112 + 112))
        for number in range(224)
    ]
    nodes = {node: tuple(cpu.number for cpu in cpus if cpu.package == node) for node in (0, 1)}
    files = {
        "proc/self/cgroup": "0::/pods/one/worker",
        "proc/self/mountinfo": CGROUP2_MOUNT,
        "sys/fs/cgroup/pods/cpu.max": "6400000 100000",
        "sys/fs/cgroup/pods/one/cpu.max": "150000 100000",
        "sys/fs/cgroup/pods/one/worker/cpu.max": "400000 100000",
        "sys/devices/system/cpu/smt/active": "1",
        "proc/sys/kernel/arch": "x86_64",
    }
    return Tree(
        cpus, x86_cpuinfo("Intel(R) Xeon(R) Platinum 8480+", 224), 512 * GIB, nodes=nodes, files=files
    )


def restricted() -> Tree:
    """No container: the affinity mask leaves CPUs 2-5 and 10, of which 5 is offline."""
    return desktop({}, allowed="2-5,10", online="0-4,6-15")


def virtual_machine() -> Tree:
    """Two CPUs under KVM: no PMU for the cores, and a power unit that would read 0 J."""
    last_level = Cache(3, "Unified", 260 * MIB, (0, 1))
    cpus = [
        Cpu(
            number,
            number,
            0,
            (number,),
            [
                *private_caches(number, (number,), 48 * KIB, 32 * KIB),
                Cache(2, "Unified", 2 * MIB, (number,)),
                last_level,
            ],
            1024,
        )
        for number in range(2)
    ]
    mounts = [
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu",
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset",
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
    ]
    files = {
        ".dockerenv": "",  # left over from the image that the disk was made of
        "sys/bus/event_source/devices/software/type": "1",
        "sys/bus/event_source/devices/msr/type": "11",
        "proc/sys/kernel/perf_event_paranoid": "0",
        "sys/bus/event_source/devices/power/events/energy-psys": "event=0x05",
        "sys/bus/event_source/devices/power/events/energy-psys.unit": "Joules",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock tsc",
        "sys/devices/system/cpu/smt/active": "0",
        "proc/sys/kernel/arch": "x86_64",
        "proc/self/cgroup": "3:cpuset:/\n1:cpu:/\n0::/",
        "proc/self/mountinfo": "\n".join(mounts),
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-1",
        "sys/fs/cgroup/cpuset/cpuset.cpus": "0-1",
    }
    cpuinfo = x86_cpuinfo("Intel(R) Xeon(R) Processor", 2, flags="fpu sse2 hypervisor avx512f")
    return Tree(cpus, cpuinfo, 24 * GIB, files=files)


TREES: dict[str, Callable[[], Tree]] = {
    "i9_14900k": i9_14900k,
    "core_ultra": core_ultra,
    "big_little": big_little,
    "two_sockets": two_sockets,
    "container_v2": container_v2,
    "container_v1": container_v1,
    "large_container": large_container,
    "restricted": restricted,
    "virtual_machine": virtual_machine,
}


def build(name: str, folder: Path) -> Path:
    """Writes the tree of that name below ``folder`` and returns its root."""
    root = folder / name
    write_tree(root, TREES[name]())
    return root


def main() -> None:
    folder = Path(sys.argv[1])
    for name in TREES:
        build(name, folder)


if __name__ == "__main__":
    main()

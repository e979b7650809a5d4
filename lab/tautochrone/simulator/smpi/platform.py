"""A machine for SimGrid: hosts and links, message constants, costs of work.

Each core is a host. A message passes the core's own link, the link shared by the cores of its kind and
package, and then the link to the other package or, between nodes, the network. Inside a node a message is
copied into a shared buffer and out of it. One pair therefore gets half the rate of a copy, and all pairs
together a quarter of the copy rate (which counts reads and writes). The simulator's own collectives use the
same model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from tautochrone.errors import TautoError
from tautochrone.simulator.machines import Kind, Machine

HOST_OPERATIONS_PER_SECOND = 1e9  # of a core of the first kind, as in runners/nbody/smpi.cpp
_COPIES = 2  # of a message inside a node
_TOUCHES = 4  # a read and a write for each
_HIGHEST_LATENCY_FACTOR = 1e6
_ADDED_BYTES_PER_SECOND = 16e9  # of a reduction, beside the copies; as in simulator/collective.cpp
_WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class Network:
    """Between nodes, one way, between two processes."""

    latency_seconds: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cores of one kind in one package of one node; ``kind``: its position in the file."""

    name: str
    node: int
    package: int
    kind: int
    cores: int
    speed: float  # operations a second

    @property
    def router(self) -> str:
        return f"{self.name}-router"

    def hosts(self) -> Iterator[str]:
        """One host for each core."""
        return (f"{self.name}-{core}" for core in range(self.cores))


@dataclass(frozen=True, slots=True)
class Messages:
    """Message costs inside a node; see [mpi] in machines/template.toml."""

    latency: float
    overhead: float
    rendezvous_latency: float
    bytes_per_second: float
    eager_bytes: int
    copy_bytes_per_second: float
    far_latency: float  # more, between packages


def messages_of(machine: Machine) -> Messages:
    """The costs of messages inside a node. Raises TautoError if the file does not give them."""
    needed = ("message_latency_seconds", "message_bytes_per_second", "eager_bytes")
    if missing := [key for key in needed if not machine.says("mpi", key)]:
        raise TautoError(
            f"the machine {machine.name} has no {', '.join(missing)} in [mpi]",
            "Add them to the file, or --set mpi.message_latency_seconds=0.5e-6 and so on",
        )
    mpi, latency = machine.mpi, machine.latency
    return Messages(
        latency=mpi.message_latency_seconds,
        overhead=mpi.message_overhead_seconds,
        rendezvous_latency=mpi.rendezvous_latency_seconds,
        bytes_per_second=mpi.message_bytes_per_second / _COPIES,
        eager_bytes=int(mpi.eager_bytes),
        copy_bytes_per_second=machine.memory.copy_bytes_per_second / _TOUCHES,
        far_latency=max(0.0, latency.line_between_packages_seconds - latency.line_one_way_seconds),
    )


def network_of(machine: Machine) -> Network:
    """The network between nodes. Raises TautoError if the file does not give it."""
    latency, rate = machine.network.latency_seconds, machine.network.bytes_per_second
    if latency is None or rate is None:
        missing = "latency_seconds" if latency is None else "bytes_per_second"
        raise TautoError(
            f"the machine {machine.name} has no {missing} in [network], and more ranks than cores need "
            "several nodes",
            f"Add --set network.{missing}=…, or ask for --ranks up to {machine.cores}",
        )
    return Network(latency, rate)


def clusters_of(machine: Machine, nodes: int) -> list[Cluster]:
    """All cores, package by package, kinds in the order of the file; the last package takes the remainder."""
    packages = machine.packages
    first = _pair_seconds(machine.kind[0])
    clusters = []
    for node, package in itertools.product(range(nodes), range(packages)):
        for place, kind in enumerate(machine.kind):
            count = kind.cores * (package + 1) // packages - kind.cores * package // packages
            if count:
                speed = HOST_OPERATIONS_PER_SECOND * first / _pair_seconds(kind)
                clusters.append(Cluster(f"n{node}p{package}k{place}", node, package, place, count, speed))
    return clusters


def _pair_seconds(kind: Kind) -> float:
    return kind.pair_cycles / clock_of(kind, kind.cores)


def clock_of(kind: Kind, active: int) -> float:
    """The clock of a core in hertz while ``active`` cores of its kind work."""
    return kind.turbo_hertz[min(active, len(kind.turbo_hertz)) - 1]


def costs(machine: Machine, active: int) -> dict[str, float]:
    """Seconds of each part of a block on a core of the first kind, with ``active`` such cores at work.

    The names are as in the model of a tauto-nbody row. As there, writing a target back costs a quarter of
    correcting it.
    """
    kind = machine.kind[0]
    second = 1 / clock_of(kind, active)
    target = kind.correct_cycles * second
    return {
        "pair_seconds": kind.pair_cycles * second,
        "source_seconds": kind.predict_cycles * second,
        "target_seconds": target,
        "put_seconds": target / 4,
        "word_seconds": word_seconds(),
    }


def word_seconds() -> float:
    """One addition of a reduction."""
    return _WORD_BYTES / _ADDED_BYTES_PER_SECOND


def platform(clusters: Sequence[Cluster], messages: Messages, network: Network | None) -> str:
    """SimGrid's description (version 4.1 of its format)."""
    root = Element("platform", version="4.1")
    world = SubElement(root, "zone", id="world", routing="Floyd")
    for node in sorted({cluster.node for cluster in clusters}):
        _add_node(world, node, [cluster for cluster in clusters if cluster.node == node], messages)
    if network is not None:
        _add_network(world, clusters, network, messages)
    head = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    return f"{head}{tostring(root, encoding='unicode')}\n"


def _rate(bytes_per_second: float) -> str:
    return f"{bytes_per_second:.17g}Bps"


def _time(seconds: float) -> str:
    return f"{seconds:.17g}s"


def _add_link(zone: Element, name: str, bytes_per_second: float, latency: float) -> None:
    rate, time = _rate(bytes_per_second), _time(latency)
    SubElement(zone, "link", id=name, bandwidth=rate, latency=time, sharing_policy="SPLITDUPLEX")


def _add_route(zone: Element, link: str, **ends: str) -> None:
    SubElement(SubElement(zone, "zoneRoute", ends), "link_ctn", id=link, direction="UP")


def _add_node(world: Element, node: int, clusters: Sequence[Cluster], messages: Messages) -> None:
    zone = SubElement(world, "zone", id=f"node{node}", routing="Full")
    cores = sum(cluster.cores for cluster in clusters)
    for cluster in clusters:
        SubElement(
            zone,
            "cluster",
            id=cluster.name,
            prefix=f"{cluster.name}-",
            suffix="",
            radical=f"0-{cluster.cores - 1}",
            speed=f"{cluster.speed:.17g}f",
            bw=_rate(messages.bytes_per_second),
            lat=_time(messages.latency / 2),
            sharing_policy="SPLITDUPLEX",
            bb_bw=_rate(messages.copy_bytes_per_second * cluster.cores / cores),
            bb_lat=_time(0),
            router_id=cluster.router,
        )
    pairs = list(itertools.combinations(clusters, 2))
    for a, b in pairs:
        latency = messages.far_latency if a.package != b.package else 0.0
        _add_link(zone, f"{a.name}-{b.name}", messages.copy_bytes_per_second, latency)
    for a, b in pairs:
        _add_route(zone, f"{a.name}-{b.name}", src=a.name, dst=b.name, gw_src=a.router, gw_dst=b.router)


def _add_network(world: Element, clusters: Sequence[Cluster], network: Network, messages: Messages) -> None:
    # A path between two nodes includes both cores' own links; their latency is part of the total.
    wire = max(0.0, network.latency_seconds - messages.latency) / 2
    gates = {cluster.node: cluster.router for cluster in reversed(clusters)}
    fabric = SubElement(world, "zone", id="fabric", routing="Full")
    SubElement(fabric, "router", id="switch")
    for node in sorted(gates):
        _add_link(world, f"net{node}", network.bytes_per_second, wire)
    for node, gate in sorted(gates.items()):
        _add_route(world, f"net{node}", src=f"node{node}", dst="fabric", gw_src=gate, gw_dst="switch")


def settings(messages: Messages, selector: str, ranks: int) -> list[str]:
    """SimGrid's options. They replace all its constants, which were fitted to a Gigabit Ethernet cluster.

    Above the eager limit the latency is multiplied by a factor. It is computed for messages inside a package
    and also used between nodes. The runner alone charges work, not this machine's clock, so every run gives
    the same bytes.
    """
    overhead = f"0:{messages.overhead:.17g}:0"
    latency = "0:1"
    if messages.latency > 0 and messages.rendezvous_latency > 0:
        factor = min(1 + messages.rendezvous_latency / messages.latency, _HIGHEST_LATENCY_FACTOR)
        latency += f";{messages.eager_bytes + 1}:{factor:.17g}"
    values = {
        "smpi/simulate-computation": "no",
        "smpi/wtime": 0,
        "smpi/bw-factor": "0:1",
        "smpi/lat-factor": latency,
        "smpi/os": overhead,
        "smpi/ois": overhead,
        "smpi/or": overhead,
        "smpi/async-small-thresh": messages.eager_bytes,
        "smpi/send-is-detached-thresh": messages.eager_bytes,
        "smpi/coll-selector": selector,
        "network/crosstraffic": 0,
        "network/weight-S": 0,
        "network/TCP-gamma": 0,
        "surf/precision": "1e-12",
    }
    # With five to eight ranks, SimGrid 3.32's broadcast for impi leaves ranks without data, and its
    # all_gather, which uses that broadcast, crashes. All other algorithms are the library's.
    if selector == "impi" and ranks in range(5, 9):
        values["smpi/bcast"] = "binomial_tree"
    return [f"--cfg={key}:{value}" for key, value in values.items()]

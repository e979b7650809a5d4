"""A machine file as SimGrid takes it: hosts and links, the constants of messages, what work costs.

Each core is a host. A message takes the core's own link, then what the cores of its kind and package share,
then the way to the other package or, between nodes, the network. Inside a node it is copied into a shared
buffer and out of it again, so a pair gets half of the rate of one copy, and all together a quarter of what
copies read and write: the model of the simulator's own collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from tautochrone.errors import TautoError
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.resolving import resolved

HOST_OPERATIONS_PER_SECOND = 1e9  # of a core of the first kind, as in runners/nbody_smpi.cpp
_COPIES = 2  # of a message inside a node
_TOUCHES = 4  # a read and a write for each
_HIGHEST_LATENCY_FACTOR = 1e6
_ADDED_BYTES_PER_SECOND = 16e9  # of a reduction, beside the copies; as in simulator/collective.cpp
_WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class Network:
    """Between nodes: one way, all between two processes."""

    latency_seconds: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cores of one kind in one package of one node; ``kind`` is its place in the file."""

    name: str
    node: int
    package: int
    kind: int
    cores: int
    speed: float  # operations a second

    @property
    def router(self) -> str:
        """What its messages pass."""
        return f"{self.name}-router"

    def hosts(self) -> Iterator[str]:
        """One a core."""
        return (f"{self.name}-{core}" for core in range(self.cores))


@dataclass(frozen=True, slots=True)
class Messages:
    """Of MPI inside a node; see [mpi] in machines/template.toml."""

    latency: float
    overhead: float
    rendezvous_latency: float
    bytes_per_second: float
    eager_bytes: int
    copy_bytes_per_second: float
    far_latency: float  # more, between packages


def cores_of(machine: Machine) -> int:
    """Of one node: as many ranks run there."""
    return sum(int(kind["cores"]) for kind in machine["kind"])


def messages_of(machine: Machine) -> Messages:
    """Raises TautoError for a machine file that has no [mpi]."""
    mpi = machine.get("mpi", {})
    missing = [
        key
        for key in ("message_latency_seconds", "message_bytes_per_second", "eager_bytes")
        if key not in mpi
    ]
    if missing:
        raise TautoError(
            f"the machine {machine['name']} does not say {', '.join(missing)} in [mpi]",
            "Add them to the file, or --set mpi.message_latency_seconds=0.5e-6 and so on",
        )
    latency = machine.get("latency", {})
    near = latency.get("line_one_way_seconds", 0.0)
    return Messages(
        latency=mpi["message_latency_seconds"],
        overhead=mpi.get("message_overhead_seconds", 0.0),
        rendezvous_latency=mpi.get("rendezvous_latency_seconds", 0.0),
        bytes_per_second=mpi["message_bytes_per_second"] / _COPIES,
        eager_bytes=mpi["eager_bytes"],
        copy_bytes_per_second=resolved(machine)["copy_bytes_per_second"] / _TOUCHES,
        far_latency=max(0.0, latency.get("line_between_packages_seconds", near) - near),
    )


def network_of(machine: Machine) -> Network:
    """Raises TautoError for a machine file that has no [network]."""
    network = machine.get("network", {})
    try:
        return Network(network["latency_seconds"], network["bytes_per_second"])
    except KeyError as key:
        raise TautoError(
            f"the machine {machine['name']} does not say {key.args[0]} in [network], and so many ranks "
            "need more than one node",
            f"Add --set network.{key.args[0]}=…, or ask for --ranks up to {cores_of(machine)}",
        ) from None


def clusters_of(machine: Machine, nodes: int) -> list[Cluster]:
    """All cores, package by package, the kinds in the order of the file; a remainder goes to the last."""
    packages = int(machine.get("packages", 1))
    kinds = resolved(machine)["kinds"]
    first = _pair_seconds(kinds[0])
    found = []
    for node in range(nodes):
        for package in range(packages):
            for place, kind in enumerate(kinds):
                count = kind["cores"] * (package + 1) // packages - kind["cores"] * package // packages
                if count:
                    speed = HOST_OPERATIONS_PER_SECOND * first / _pair_seconds(kind)
                    found.append(Cluster(f"n{node}p{package}k{place}", node, package, place, count, speed))
    return found


def _pair_seconds(kind: Mapping[str, Any]) -> float:
    return float(kind["pair_cycles"]) / clock_of(kind, int(kind["cores"]))


def clock_of(kind: Mapping[str, Any], active: int) -> float:
    """Hertz of a core where so many of its kind work."""
    turbo = kind["turbo_hertz"]
    return float(turbo[min(active, len(turbo)) - 1])


def costs(machine: Machine, active: int) -> dict[str, float]:
    """Seconds of the parts of a block on a core of the first kind, ``active`` of them at work.

    The names are those of the model in a row of tauto-nbody; writing a target back is counted as a quarter of
    correcting it, as there.
    """
    kind = resolved(machine)["kinds"][0]
    second = 1 / clock_of(kind, active)
    target = kind["correct_cycles"] * second
    return {
        "pair_seconds": kind["pair_cycles"] * second,
        "source_seconds": kind["predict_cycles"] * second,
        "target_seconds": target,
        "put_seconds": target / 4,
        "word_seconds": word_seconds(),
    }


def word_seconds() -> float:
    """One addition of a reduction."""
    return _WORD_BYTES / _ADDED_BYTES_PER_SECOND


def platform(clusters: Sequence[Cluster], messages: Messages, network: Network | None) -> str:
    """SimGrid's description (version 4.1 of its format)."""
    nodes = sorted({one.node for one in clusters})
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '<zone id="world" routing="Floyd">',
    ]
    for node in nodes:
        lines += _node(node, [one for one in clusters if one.node == node], messages)
    if network is not None:
        lines += _network(clusters, network, messages)
    return "\n".join([*lines, "</zone>", "</platform>", ""])


def _element(tag: str, **attributes: object) -> str:
    return f"<{tag} {' '.join(f'{name}={quoteattr(str(value))}' for name, value in attributes.items())}"


def _node(node: int, clusters: Sequence[Cluster], messages: Messages) -> Iterator[str]:
    yield _element("zone", id=f"node{node}", routing="Full") + ">"
    cores = sum(one.cores for one in clusters)
    for one in clusters:
        yield (
            _element(
                "cluster",
                id=one.name,
                prefix=f"{one.name}-",
                suffix="",
                radical=f"0-{one.cores - 1}",
                speed=f"{one.speed:.17g}f",
                bw=f"{messages.bytes_per_second:.17g}Bps",
                lat=f"{messages.latency / 2:.17g}s",
                sharing_policy="SPLITDUPLEX",
                bb_bw=f"{messages.copy_bytes_per_second * one.cores / cores:.17g}Bps",
                bb_lat="0s",
                router_id=one.router,
            )
            + "/>"
        )
    between = [(a, b) for place, a in enumerate(clusters) for b in clusters[place + 1 :]]
    for a, b in between:
        latency = messages.far_latency if a.package != b.package else 0.0
        yield (
            _element(
                "link",
                id=f"{a.name}-{b.name}",
                bandwidth=f"{messages.copy_bytes_per_second:.17g}Bps",
                latency=f"{latency:.17g}s",
                sharing_policy="SPLITDUPLEX",
            )
            + "/>"
        )
    for a, b in between:
        ends = _element("zoneRoute", src=a.name, dst=b.name, gw_src=a.router, gw_dst=b.router)
        yield f'{ends}><link_ctn id="{a.name}-{b.name}" direction="UP"/></zoneRoute>'
    yield "</zone>"


def _network(clusters: Sequence[Cluster], network: Network, messages: Messages) -> Iterator[str]:
    # The way between two nodes begins and ends with a core's own link, whose latency is part of the whole.
    wire = max(0.0, network.latency_seconds - messages.latency) / 2
    gates = {one.node: one.router for one in reversed(clusters)}
    yield '<zone id="fabric" routing="Full"><router id="switch"/></zone>'
    for node in sorted(gates):
        yield (
            _element(
                "link",
                id=f"net{node}",
                bandwidth=f"{network.bytes_per_second:.17g}Bps",
                latency=f"{wire:.17g}s",
                sharing_policy="SPLITDUPLEX",
            )
            + "/>"
        )
    for node, gate in sorted(gates.items()):
        ends = _element("zoneRoute", src=f"node{node}", dst="fabric", gw_src=gate, gw_dst="switch")
        yield f'{ends}><link_ctn id="net{node}" direction="UP"/></zoneRoute>'


def settings(messages: Messages, selector: str, ranks: int) -> list[str]:
    """SimGrid's options. Its own constants were fitted to a cluster on Gigabit Ethernet: none of them stays.

    Above the eager limit latency grows by a factor, that of a message inside a package; between nodes by the
    same one.
    Work is charged by the runner alone, not by this machine's clock: the same bytes on every run.
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
    # SimGrid 3.32's broadcast for impi leaves ranks of five to eight without the data, and its all_gather,
    # which has one inside, ends in a crash. Everything else is the library's.
    if selector == "impi" and ranks in range(5, 9):
        values["smpi/bcast"] = "binomial_tree"
    return [f"--cfg={key}:{value}" for key, value in values.items()]

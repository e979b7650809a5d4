"""What is compared in one cell (one size on one state of the machine): every peer's honest best, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.runners import PeerState
from tautochrone.studies.loop.placements import Layout, Placement
from tautochrone.studies.loop.request import Emulation, emulation_text

CHUNKED = ("static_chunk", "dynamic", "guided")
TBB_SCHEDULES = ("auto", "simple", "static", "affinity")
_PLACEMENT_WORDS = {
    "all": "all cores",
    "fast": "fast cores only",
    "slow": "slow cores only",
    "threads": "all hardware threads",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to run the loop.

    ``roles`` say why it may not be screened out: ``default``, ``reference`` or ``ours``.
    """

    state: PeerState
    schedule: str
    chunk: int | None = None
    wait: str = "default"
    placement: Placement
    roles: frozenset[str] = frozenset()

    @property
    def peer(self) -> str:
        """The name of the runtime under test."""
        return self.state.peer.name

    @property
    def always_measured(self) -> bool:
        """True where screening may not drop it."""
        return bool(self.roles)

    @property
    def label(self) -> str:
        """For people: "libgomp dynamic, chunk 2, all cores"."""
        return label(self.peer, self.schedule, self.chunk, self.placement.name, self.wait)

    def arguments(self, size: int, warmup_seconds: float, timed_seconds: float) -> list[str]:
        """The runner's command line without its path."""
        words = ["--size", str(size), "--cpus", ",".join(map(str, self.placement.cpus))]
        words += ["--threads", str(len(self.placement.cpus)), "--schedule", self.schedule]
        words += [] if self.chunk is None else ["--chunk", str(self.chunk)]
        words += [] if self.wait == "default" else ["--wait", self.wait]
        return [*words, "--warmup-seconds", f"{warmup_seconds:g}", "--min-seconds", f"{timed_seconds:g}"]

    def settings(self, size: int, emulation: Emulation) -> dict[str, object]:
        """The ``config`` of this candidate's rows."""
        return {
            "runtime": self.state.peer.runtime,
            "library": self.peer,
            "schedule": self.schedule,
            "chunk": self.chunk,
            "threads": len(self.placement.cpus),
            "placement": self.placement.name,
            "cpus": list(self.placement.cpus),
            "cores": dict(self.placement.cores),
            "size": size,
            "wait": self.wait,
            "emulated": {str(cpu): factor for cpu, factor in sorted(emulation.items())},
        }


def label(peer: str, schedule: str, chunk: int | None, placement: str, wait: str) -> str:
    """What a configuration is called in tables and sentences."""
    parts = [peer if peer == schedule else f"{peer} {schedule.replace('_', ' ')}"]
    if chunk is not None:
        parts.append(f"chunk {chunk}")
    parts.append(_PLACEMENT_WORDS.get(placement, f"CPUs {placement}"))
    if wait != "default":
        parts.append(f"{wait} wait")
    return ", ".join(parts)


def group_name(size: int, emulation: Emulation) -> str:
    """The name of a cell: rows are compared within one only."""
    return f"size={size},emulated={emulation_text(emulation)}"


def candidates(
    states: Sequence[PeerState],
    layout: Layout,
    chunks: Sequence[int],
    *,
    placements: Sequence[str] | None = None,
    threads: int | None = None,
    quick: bool = False,
) -> list[Candidate]:
    """Everything to compare in a cell with this layout, without repeats.

    The placements that were asked for are used in this cell where they mean something; ``all`` is what peers'
    defaults run on. References (serial on one CPU of each kind, equal shares on fast and on slow alone) are
    always there, because the bound is made of them.
    """
    names = [name for name in (placements or layout.names) if layout.unequal or name not in ("fast", "slow")]
    places = [layout.placement(name, threads) for name in names or ["all"]]
    found: dict[tuple[object, ...], Candidate] = {}
    for state in states:
        if state.present:
            for candidate in _of_peer(state, layout, places, chunks, threads, quick):
                key = (
                    candidate.peer,
                    candidate.schedule,
                    candidate.chunk,
                    candidate.wait,
                    candidate.placement.name,
                )
                known = found.get(key)
                if known is None or candidate.roles > known.roles:
                    found[key] = candidate
    return list(found.values())


def _of_peer(
    state: PeerState,
    layout: Layout,
    places: Sequence[Placement],
    chunks: Sequence[int],
    threads: int | None,
    quick: bool,
) -> Iterator[Candidate]:
    assert state.description is not None
    peer = state.peer
    if peer.name == "serial":
        yield from _serial(state, layout)
        return
    schedules = state.description.schedules or (peer.default_schedule,)
    everywhere = layout.placement("all", threads)
    yield Candidate(
        state=state,
        schedule=peer.default_schedule,
        placement=everywhere,
        roles=frozenset({"ours" if peer.name == "tautochrone" else "default"}),
    )
    if peer.runtime == "openmp":
        yield from _references(state, layout, threads)
    for placement in places:
        slow_alone = placement.name == "slow"
        for schedule, chunk in _schedules(peer.name, schedules, chunks, quick):
            if slow_alone and (chunk is not None or schedule not in ("static", peer.default_schedule)):
                continue  # the slow cores alone are equal among themselves: a reference, no contender
            if len(placement.cpus) == 1 and chunk is not None:
                continue  # one worker: nothing to share out
            for wait in _waits(state, schedule, chunk, placement, quick):
                yield Candidate(state=state, schedule=schedule, chunk=chunk, wait=wait, placement=placement)


def _serial(state: PeerState, layout: Layout) -> Iterator[Candidate]:
    """The serial loop on one CPU of each kind; on a small machine of equal cores, on every CPU."""
    firsts: dict[str, int] = {}
    for cpu in layout.fast + layout.slow:
        firsts.setdefault(cpu.kind, cpu.number)
    numbers = list(firsts.values())
    everything = [cpu.number for cpu in layout.fast + layout.slow]
    if not layout.unequal and len(everything) <= 4:
        numbers = everything
    for number in numbers:
        yield Candidate(
            state=state,
            schedule="serial",
            placement=layout.placement(str(number)),
            roles=frozenset({"reference"}),
        )


def _references(state: PeerState, layout: Layout, threads: int | None) -> Iterator[Candidate]:
    """Equal shares on the fast and on the slow cores alone: T_P and T_E of the bound."""
    if state.peer.name != "libgomp" or not layout.unequal:
        return
    for name in ("fast", "slow"):
        placement = layout.placement(name, threads)
        yield Candidate(state=state, schedule="static", placement=placement, roles=frozenset({"reference"}))


def _schedules(
    peer: str, schedules: Sequence[str], chunks: Sequence[int], quick: bool
) -> Iterator[tuple[str, int | None]]:
    for schedule in schedules:
        if quick and schedule == "auto" and peer in ("libgomp", "libomp"):
            continue  # both map auto to a static or guided schedule that is there already
        if schedule not in CHUNKED:
            yield schedule, None
        elif schedule == "static_chunk":
            yield schedule, chunks[-1]
        else:
            for chunk in chunks:
                yield schedule, chunk


def _waits(
    state: PeerState, schedule: str, chunk: int | None, placement: Placement, quick: bool
) -> Iterator[str]:
    assert state.description is not None
    yield "default"
    policies = state.description.wait_policies
    if "active" not in policies or len(placement.cpus) == 1 or state.peer.name == "tautochrone":
        return  # one worker never waits; tautochrone is compared with no settings
    if quick and not (placement.name == "all" and (chunk == 2 or schedule == "static")):
        return
    yield "active"


def group_candidates(found: Sequence[Candidate]) -> Mapping[str, list[Candidate]]:
    """Candidates by peer, in their order."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in found:
        groups.setdefault(candidate.peer, []).append(candidate)
    return groups

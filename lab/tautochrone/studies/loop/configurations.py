"""What is compared in one cell (one size on one state of the machine): every peer's honest best, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tautochrone.runners import PeerState
from tautochrone.studies.options import Emulation, Times, emulation_text
from tautochrone.studies.placements import Layout, Placement
from tautochrone.studies.runner_setup import RunnerSetup, joined_label

_FEW_CPUS = 4
_PLACEMENT_WORDS = {
    "all": "all cores",
    "fast": "fast cores only",
    "slow": "slow cores only",
    "threads": "all hardware threads",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run the loop.

    ``roles`` say why it may not be screened out: ``default``, ``reference`` or ``ours``.
    """

    roles: frozenset[str] = frozenset()

    @property
    def always_measured(self) -> bool:
        """True where screening may not drop it."""
        return bool(self.roles)

    @property
    def label(self) -> str:
        """For people: "libgomp dynamic, chunk 2, all cores"."""
        return label(self.peer, self.schedule, self.chunk, self.placement.name, self.wait)

    def arguments(self, size: int, times: Times) -> list[str]:
        """The runner's command line without its path."""
        return ["--size", str(size), *self.common_arguments(times)]

    def settings(self, size: int, emulation: Emulation) -> dict[str, object]:
        """The ``config`` of this candidate's rows."""
        return {**self.common_settings(emulation), "size": size}


def label(peer: str, schedule: str, chunk: int | None, placement: str, wait: str) -> str:
    """What a configuration is called in tables and sentences."""
    explicit = f"CPU {placement}" if placement.isdigit() else f"CPUs {placement}"
    where = _PLACEMENT_WORDS.get(placement, explicit)
    return joined_label(peer, schedule, "" if chunk is None else f"chunk {chunk}", where, wait=wait)


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
    present = [state for state in states if state.present]
    found: dict[tuple[object, ...], Candidate] = {}
    for state in present:
        for candidate in _of_peer(state, layout, places, chunks, threads, quick):
            _keep(found, candidate)
    for candidate in _references(present, layout, threads):
        _keep(found, candidate)
    return list(found.values())


def _keep(found: dict[tuple[object, ...], Candidate], candidate: Candidate) -> None:
    """Each configuration once, with the roles of all that wanted it."""
    key = (candidate.peer, candidate.schedule, candidate.chunk, candidate.wait, candidate.placement.name)
    known = found.get(key)
    found[key] = replace(candidate, roles=candidate.roles | known.roles) if known else candidate


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
    everywhere = layout.placement("all", threads)
    yield Candidate(
        state=state,
        schedule=peer.default_schedule,
        placement=everywhere,
        roles=frozenset({"ours" if peer.name == "tautochrone" else "default"}),
    )
    for placement in places:
        if placement.name == "slow":
            continue  # alike among themselves: a reference (below), no contender
        if len(placement.cpus) == 1:  # nothing to share out, but a library's own kernel may win alone
            yield Candidate(state=state, schedule=peer.default_schedule, placement=placement)
            continue
        for schedule, chunk in _schedules(state, chunks, quick):
            for wait in _waits(state, schedule, chunk, placement, quick):
                yield Candidate(state=state, schedule=schedule, chunk=chunk, wait=wait, placement=placement)


def _serial(state: PeerState, layout: Layout) -> Iterator[Candidate]:
    """The serial loop on one fast CPU, and on every CPU of a small machine of equal cores.

    Where the fast or the slow cores are one core, this is their time alone, and is called so.
    """
    fast = layout.placement("fast")
    if layout.unequal:
        names = ["fast" if len(fast.cpus) == 1 else str(fast.cpus[0])]
        names += ["slow"] if len(layout.placement("slow").cpus) == 1 else []
    else:
        names = [str(cpu) for cpu in (fast.cpus if len(fast.cpus) <= _FEW_CPUS else fast.cpus[:1])]
    for name in names:
        yield Candidate(
            state=state,
            schedule="serial",
            placement=layout.placement(name),
            roles=frozenset({"reference"}),
        )


def _references(present: Sequence[PeerState], layout: Layout, threads: int | None) -> Iterator[Candidate]:
    """Equal shares on several fast or slow cores alone: T_P and T_E of the bound."""
    by_name = {state.peer.name: state for state in present}
    state = by_name.get("libgomp") or by_name.get("tautochrone")
    if state is None or not layout.unequal:
        return
    for name in ("fast", "slow"):
        placement = layout.placement(name, threads)
        if len(placement.cpus) > 1:
            yield Candidate(
                state=state, schedule="static", placement=placement, roles=frozenset({"reference"})
            )


def _schedules(state: PeerState, chunks: Sequence[int], quick: bool) -> Iterator[tuple[str, int | None]]:
    description = state.description
    assert description is not None
    for schedule in description.schedules or (state.peer.default_schedule,):
        if quick and schedule == "auto" and state.peer.runtime == "openmp":
            continue  # both libraries map auto to a static or guided schedule that is there already
        if schedule not in description.schedules_with_chunk:
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
    if "active" not in policies or state.peer.name == "tautochrone":
        return  # tautochrone is compared with no settings
    if quick and not (placement.name == "all" and (chunk == 2 or schedule == "static")):
        return
    yield "active"

"""What is compared in one cell (one size on one state of the machine): every peer's honest best, and ours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tautochrone.machine.placements import Layout, Placement
from tautochrone.machine.runners import Peer, PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.options import State, state_text
from tautochrone.results.states import state_suffix
from tautochrone.simulator.requests import TUNED
from tautochrone.studies.request import Times
from tautochrone.studies.setup import RunnerSetup, joined_label

PEERS: tuple[Peer, ...] = (
    Peer("serial", "serial", "the plain serial loop", "", "serial", "loop"),
    Peer("libgomp", "openmp", "OpenMP on GCC's libgomp", "libgomp1", "pragma", "loop"),
    Peer("libomp", "openmp", "OpenMP on LLVM's libomp", "libomp5", "pragma", "loop"),
    Peer("tbb", "tbb", "oneTBB", "libtbb-dev", "auto", "loop"),
    Peer("stdpar", "stdpar", "std::execution::par", "libtbb-dev", "par", "loop"),
    Peer("openblas", "openblas", "OpenBLAS sgemv", "libopenblas-pthread-dev", "sgemv", "loop"),
    Peer("openmpi", "openmpi", "Open MPI", "libopenmpi-dev", "static", "loop", on_request=True),
    Peer("mpich", "mpich", "MPICH", "libmpich-dev", "static", "loop", on_request=True),
    Peer("tautochrone", "tautochrone", "tautochrone", "", "adaptive", "loop"),
)
PEER_BY_NAME: Mapping[str, Peer] = {peer.name: peer for peer in PEERS}

_START_SECONDS = 0.03  # a process, its libraries, its threads
_PASSES_OVER_THE_MATRIX = 10.0  # filling it once, the solve that is checked, the accounting pass
_MATRIX_BYTES_PER_SECOND = 4e9
_FEW_CPUS = 4
_REFERENCE = frozenset({"reference"})
PLACEMENT_WORDS = {
    "all": "all cores",
    "cores": "one thread a core",
    "fast": "fast cores only",
    "fast-cores": "one thread a fast core",
    "slow": "slow cores only",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run the loop.

    ``roles`` say why it may not be screened out: ``default``, ``reference`` or ``ours``.
    """

    roles: frozenset[str] = frozenset()

    @property
    def always_measured(self) -> bool:
        return bool(self.roles)

    @property
    def label(self) -> str:
        """For people: "libgomp dynamic, chunk 2, all cores"."""
        return label(self.peer, self.schedule, self.chunk, self.placement.name, self.wait)


def label(peer: str, schedule: str, chunk: int | None, placement: str, wait: str) -> str:
    explicit = f"CPU {placement}" if placement.isdigit() else f"CPUs {placement}"
    where = PLACEMENT_WORDS.get(placement, explicit)
    return joined_label(peer, schedule, "" if chunk is None else f"chunk {chunk}", where, wait=wait)


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
    of_unequal = ("fast", "fast-cores", "slow")
    names = [name for name in (placements or layout.names) if layout.unequal or name not in of_unequal]
    places = [layout.placement(name, threads) for name in names or ["all"]]
    present = [state for state in states if state.present]
    of_peers = (_of_peer(state, layout, places, chunks, threads, quick) for state in present)
    # each configuration once, with all its roles
    distinct: dict[str, Candidate] = {}
    for candidate in (*itertools.chain(*of_peers), *_references(present, layout, threads)):
        known = distinct.get(candidate.label)
        distinct[candidate.label] = (
            replace(candidate, roles=candidate.roles | known.roles) if known else candidate
        )
    return list(distinct.values())


def _of_peer(
    state: PeerState,
    layout: Layout,
    places: Sequence[Placement],
    chunks: Sequence[int],
    threads: int | None,
    quick: bool,
) -> Iterator[Candidate]:
    peer = state.peer
    if peer.name == "serial":
        yield from _serial(state, layout)
        return
    # Where each runs that nobody told otherwise: tautochrone's team takes one thread a core.
    ours = peer.name == "tautochrone"
    everywhere = layout.placement("cores" if ours and layout.has_smt else "all", threads)
    yield Candidate(
        state=state,
        schedule=peer.default_schedule,
        placement=everywhere,
        roles=frozenset({"ours" if ours else "default"}),
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
        placement = layout.placement(name)
        yield Candidate(state=state, schedule="serial", placement=placement, roles=_REFERENCE)


def _references(present: Sequence[PeerState], layout: Layout, threads: int | None) -> Iterator[Candidate]:
    """Equal shares on several fast or slow cores alone: T_P and T_E of the bound."""
    by_name = {state.peer.name: state for state in present}
    state = by_name.get("libgomp") or by_name.get("tautochrone")
    if state is None or not layout.unequal:
        return
    for name in ("fast", "fast-cores", "slow"):
        if name not in layout.names:
            continue
        placement = layout.placement(name, threads)
        if len(placement.cpus) > 1:
            yield Candidate(state=state, schedule="static", placement=placement, roles=_REFERENCE)


def _schedules(state: PeerState, chunks: Sequence[int], quick: bool) -> Iterator[tuple[str, int | None]]:
    description = state.description
    if description is None:
        return
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
    yield "default"
    policies = state.description.wait_policies if state.description is not None else ()
    if "active" not in policies or state.peer.name == "tautochrone":
        return  # tautochrone is compared with no settings
    if quick and not (placement.name == "all" and (chunk == 2 or schedule == "static")):
        return
    yield "active"


@dataclass(frozen=True, slots=True)
class StudyCell:
    """One size in one state of the machine, and all that is compared there, with one kernel."""

    size: int
    state: State
    layout: Layout
    candidates: tuple[Candidate, ...]
    kernel: str = TUNED


def configuration(
    cell: StudyCell, candidate: Candidate, times: Times, duration_seconds: float | None = None
) -> Configuration:
    """A candidate in a cell as something to measure, or with a duration as something to watch."""
    seconds = "" if duration_seconds is None else f"{duration_seconds:g}"
    watched = ["--duration", seconds, "--account-seconds", seconds] if seconds else []
    # A study with the tuned kernel has the rows that it had before there was a choice.
    other = cell.kernel != TUNED
    words = ["--kernel", cell.kernel] if other else []
    return candidate.configuration(
        f"{candidate.label}, n = {cell.size}{state_suffix(cell.state)}",
        f"size={cell.size},emulated={state_text(cell.state)}",
        times,
        arguments=["--size", str(cell.size), *words, *watched],
        settings={"size": cell.size, **({"kernel": cell.kernel} if other else {})},
        emulation=cell.state,
    )


def estimated_run_seconds(size: int, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    passes = _PASSES_OVER_THE_MATRIX * 4.0 * size * size / _MATRIX_BYTES_PER_SECOND
    return _START_SECONDS + times.warmup_seconds + times.timed_seconds + passes

"""What is compared: libraries as one gets them, with settings that move their switches, our fold over MPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.runners import PeerState
from tautochrone.studies.options import Times
from tautochrone.studies.placements import Placement
from tautochrone.studies.runner_setup import RunnerSetup

DEFAULT = "default"
MEMBER = "member"
PAIRS: Mapping[str, str] = {"all_reduce": "reduce_broadcast", "all_gather": "gather_broadcast"}
"""Each operation of the study, and the pair of operations that it may not take longer than."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Settings of a library, as environment variables, and what they are meant to change."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    what: str = ""


PLAIN = Variant(DEFAULT)
VARIANTS: Mapping[str, tuple[Variant, ...]] = {
    "openmpi": (
        Variant(
            "eager 64 KiB",
            {"OMPI_MCA_btl_vader_eager_limit": "65536", "OMPI_MCA_btl_sm_eager_limit": "65536"},
            "messages up to 64 KiB go through shared memory at once, without a rendezvous",
        ),
        Variant(
            "recursive doubling",
            {
                "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                "OMPI_MCA_coll_tuned_allreduce_algorithm": "3",
                "OMPI_MCA_coll_tuned_allgather_algorithm": "3",
            },
            "one algorithm at every length",
        ),
    ),
    "mpich": (
        Variant(
            "recursive doubling",
            {
                "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recursive_doubling",
                "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM": "recursive_doubling",
            },
            "one algorithm at every length",
        ),
        Variant(
            "release and gather",
            {"MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM": "release_gather"},
            "all_reduce through a shared buffer",
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run the operations on so many ranks."""

    ranks: int
    variant: Variant = PLAIN

    @property
    def workers(self) -> int:
        """The ranks that were asked for."""
        return self.ranks

    @property
    def is_default(self) -> bool:
        """True for what one gets who sets nothing."""
        return self.variant.name == DEFAULT and self.schedule == self.state.peer.default_schedule

    @property
    def label(self) -> str:
        """For people: "openmpi", "openmpi, eager 64 KiB", "mpich, tautochrone's fold"."""
        return label(self.peer, self.schedule, self.variant.name)

    @property
    def environment(self) -> dict[str, str]:
        """What the process finds in its environment beside the lab's own."""
        return {**self.state.environment, **self.variant.environment}

    def operations(self, quick: bool) -> list[str]:
        """What is measured: the operations, and of a library with no settings the pairs beside them."""
        if not self.is_default:
            return list(PAIRS)
        return [*PAIRS, PAIRS["all_reduce"]] if quick else [*PAIRS, *PAIRS.values()]

    def arguments(self, lengths: Sequence[int], times: Times, quick: bool) -> list[str]:
        """The runner's command line without its path."""
        words = ["--operations", ",".join(self.operations(quick)), "--lengths", ",".join(map(str, lengths))]
        return [*words, *self.common_arguments(times)]

    def settings(self, part: str, lengths: Sequence[int], quick: bool) -> dict[str, object]:
        """The ``config`` of this candidate's rows."""
        own = {"variant": self.variant.name, "part": part, "lengths": list(lengths)}
        return {**self.common_settings({}), **own, "operations": self.operations(quick)}


def label(peer: str, schedule: str, variant: str) -> str:
    """What a configuration is called in tables and sentences."""
    if peer != "tautochrone" and schedule == MEMBER:
        return f"{peer}, tautochrone’s fold"
    return peer if variant == DEFAULT else f"{peer}, {variant}"


def candidates(
    states: Sequence[PeerState], placement: Placement, ranks: int, *, quick: bool
) -> Iterator[Candidate]:
    """Each library as one gets it; a full study adds our fold over its messages and known settings."""
    for state in states:
        if state.description is None:
            continue
        default = state.peer.default_schedule
        yield Candidate(state=state, schedule=default, placement=placement, ranks=ranks)
        if quick:
            continue
        for variant in VARIANTS.get(state.peer.name, ()):
            yield Candidate(state=state, schedule=default, placement=placement, ranks=ranks, variant=variant)
        if default != MEMBER and MEMBER in state.description.schedules:
            yield Candidate(state=state, schedule=MEMBER, placement=placement, ranks=ranks)

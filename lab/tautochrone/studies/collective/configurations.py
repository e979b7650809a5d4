"""What is compared: libraries with no settings and with some, our fold over MPI; and at which lengths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.errors import TautoError
from tautochrone.machine.placements import Placement
from tautochrone.machine.runners import Peer, PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.options import integers_of
from tautochrone.studies.request import Times
from tautochrone.studies.setup import RunnerSetup

DEFAULT = "default"
MEMBER = "member"
PAIRS: Mapping[str, str] = {"all_reduce": "reduce_broadcast", "all_gather": "gather_broadcast"}
"""Each operation of the study, and the pair of operations that it may not take longer than."""

PEERS: tuple[Peer, ...] = (
    Peer("openmpi", "openmpi", "Open MPI", "libopenmpi-dev", "native", "collective"),
    Peer("mpich", "mpich", "MPICH", "libmpich-dev", "native", "collective"),
    Peer("intelmpi", "mpich", "Intel MPI", "", "native", "collective"),
    Peer("tautochrone", "threads", "tautochrone", "", "member", "collective"),
)

WORD_BYTES = 8
LARGEST_WORDS = 1 << 26
SWITCHES_WORDS = (512, 1024, 10_000 // WORD_BYTES, *(kib * 1024 // WORD_BYTES for kib in (4, 8, 16, 32)))
"""Where libraries are known to change their algorithm: 512 and 1024 words, 10,000 bytes, 4 to 32 KiB."""

_POWERS = 17  # 1 … 65,536
_FINEST = 1.05  # neighbours closer than this need nothing between them
_BETWEEN = 3
_BESIDE = 2  # lengths on each side of a gap that are measured again with it

_START_SECONDS = 0.6  # a launcher and its processes
_CHECKS = 1.6  # of the time that was asked for: warming up, a last batch


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
    """One way to run the operations on a number of ranks."""

    ranks: int
    variant: Variant = PLAIN

    @property
    def workers(self) -> int:
        return self.ranks

    @property
    def is_default(self) -> bool:
        return self.variant.name == DEFAULT and self.schedule == self.state.peer.default_schedule

    @property
    def label(self) -> str:
        """For people: "openmpi", "openmpi, eager 64 KiB", "mpich, tautochrone's fold"."""
        return label(self.peer, self.schedule, self.variant.name)

    @property
    def environment(self) -> Mapping[str, str]:
        """With the variables that are the settings."""
        return {**self.state.environment, **self.variant.environment}

    def operations(self, quick: bool) -> list[str]:
        """What is measured: the operations, and of a library with no settings the pairs beside them."""
        if not self.is_default:
            return list(PAIRS)
        return [*PAIRS, PAIRS["all_reduce"]] if quick else [*PAIRS, *PAIRS.values()]


def label(peer: str, schedule: str, variant: str) -> str:
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


def configuration(
    candidate: Candidate, part: str, lengths: Sequence[int], times: Times, quick: bool
) -> Configuration:
    operations = candidate.operations(quick)
    words = ["--operations", ",".join(operations), "--lengths", ",".join(map(str, lengths))]
    return candidate.configuration(
        f"{candidate.label}, {part}",
        f"ranks={candidate.ranks},part={part}",
        times,
        arguments=words,
        settings={
            "variant": candidate.variant.name,
            "part": part,
            "lengths": list(lengths),
            "operations": operations,
        },
    )


def estimated_run_seconds(candidate: Candidate, lengths: Sequence[int], times: Times, quick: bool) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    points = len(lengths) * len(candidate.operations(quick))
    return _START_SECONDS + points * (times.warmup_seconds + _CHECKS * times.timed_seconds)


# -- the lengths: powers of two, the neighbours of known switches, and where a curve steps --


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbouring lengths between which a curve steps, and by how much (1.5: half as much again)."""

    below: int
    above: int
    factor: float


def base_lengths(quick: bool = False) -> tuple[int, ...]:
    """1 … 65,536 words: every power of two, and one word less and more around the switches.

    A quick study leaves out the powers below 512 that have an odd exponent.
    """
    powers = {1 << power for power in range(_POWERS) if not quick or power >= 9 or power % 2 == 0}
    beside = {words + offset for words in SWITCHES_WORDS for offset in (-1, 0, 1)}
    return tuple(sorted(powers | beside))


def parse_lengths(text: str, option: str = "--lengths") -> tuple[int, ...]:
    """``"64,1,512"`` → (1, 64, 512). Raises TautoError for any other word."""
    return integers_of(
        text,
        option,
        1,
        LARGEST_WORDS,
        lambda word: TautoError(
            f"{word!r} is not a number of 8-byte words", f"Write 1 to {LARGEST_WORDS}, such as 1,512,4096"
        ),
    )


def refined(gaps: Iterable[Gap], known: Sequence[int], most: int) -> tuple[int, ...]:
    """Lengths to measure next: some inside each gap, its ends, and a few on both sides to compare with.

    The ``most`` largest gaps are taken, whatever their direction; empty when all are as fine as is wanted.
    ``known`` lengths ascend.
    """
    widest: dict[tuple[int, int], float] = {}
    for gap in gaps:
        key = (gap.below, gap.above)
        if gap.above - gap.below > 1 and gap.above / gap.below > _FINEST:
            widest[key] = max(widest.get(key, 0.0), abs(math.log(gap.factor)))
    chosen = sorted(widest, key=lambda key: -widest[key])[:most]
    wanted: set[int] = set()
    for below, above in chosen:
        inside = {
            round(below * (above / below) ** (place / (_BETWEEN + 1))) for place in range(1, _BETWEEN + 1)
        }
        left = [words for words in known if words <= below][-_BESIDE:]
        right = [words for words in known if words >= above][:_BESIDE]
        wanted |= {*inside, *left, *right}
    return tuple(sorted(wanted))

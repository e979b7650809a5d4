"""What is asked of the collective study."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.studies.collective.lengths import base_lengths, parse_lengths
from tautochrone.studies.options import StudyRequest

__all__ = ["CollectiveRequest", "check_ranks", "parse_lengths"]

_MOST_RANKS_A_CPU = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRequest(StudyRequest):
    """The options of ``tauto study collective``, parsed. ``None`` means "choose for me"."""

    lengths: tuple[int, ...] | None = None
    ranks: int | None = None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The lengths of the first part, in 8-byte words; the second refines them."""
        return self.lengths or base_lengths(self.quick)


def check_ranks(ranks: int | None, cpus: int) -> int:
    """How many ranks there are: one a CPU unless asked. TautoError for fewer than two, or for a crowd."""
    if ranks is None:
        ranks = cpus
        if ranks < 2:
            raise TautoError(
                "a collective needs two members, and only 1 CPU may be used here",
                "Start without taskset, widen the container's cpuset, or let two ranks share it: --ranks 2",
            )
    if ranks < 2:
        raise TautoError(f"--ranks {ranks} is too few: a collective needs two members", "Ask for 2 or more")
    if ranks > _MOST_RANKS_A_CPU * cpus:
        raise TautoError(
            f"--ranks {ranks} is more than {_MOST_RANKS_A_CPU} on each of the {cpus} CPUs that may be used "
            "here",
            f"Ask for {_MOST_RANKS_A_CPU * cpus} or fewer",
        )
    return ranks

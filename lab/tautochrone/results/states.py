"""States of the machine, and how they are called. A state says which CPUs were made slower: CPU → factor.

A row has its state in ``config["emulated"]``, with the CPUs as text; the unmodified machine's is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tautochrone.text import times


class InState(Protocol):
    """Something that was measured in one state of the machine."""

    @property
    def emulated(self) -> Mapping[str, float]:
        """Its state."""


Measured = TypeVar("Measured", bound=InState)


def by_state(cells: Sequence[Measured]) -> dict[tuple[tuple[str, float], ...], list[Measured]]:
    """Cells by state, in the order in which the states first come."""
    states: dict[tuple[tuple[str, float], ...], list[Measured]] = {}
    for cell in cells:
        states.setdefault(tuple(sorted(cell.emulated.items())), []).append(cell)
    return states


def states_of(cells: Iterable[InState]) -> list[dict[str, float]]:
    """The different states, the unmodified machine first, then by how much is slowed."""
    states: list[dict[str, float]] = []
    for cell in cells:
        if dict(cell.emulated) not in states:
            states.append(dict(cell.emulated))
    return sorted(states, key=lambda state: (sum(state.values()), sorted(state.items())))


def state_title(state: Mapping[str, float]) -> str:
    """{} → "The machine as it is"; {"1": 4.0} → "CPU 1 made 4× slower (emulated)"."""
    slowed = [f"CPU {cpu} made {factor:g}× slower" for cpu, factor in state.items() if factor != 1]
    return f"{', '.join(slowed)} (emulated)" if slowed else "The machine as it is"


def state_suffix(state: Mapping[int, float] | Mapping[str, float]) -> str:
    """{1: 4.0} → ", CPU 1 4× slower", to follow a configuration's name; {} → ""."""
    return "".join(f", CPU {cpu} {factor:g}× slower" for cpu, factor in sorted(state.items()))


def state_words(state: Mapping[str, float]) -> str:
    """{} → "on the machine as it is"; {"1": 4.0} → "with CPU 1 made four times slower"."""
    if not state:
        return "on the machine as it is"
    slowed = [f"CPU {cpu} made {times(factor)} slower" for cpu, factor in sorted(state.items())]
    return f"with {' and '.join(slowed)}"


def opening(state: Mapping[str, float], first: str = "") -> str:
    """How a sentence about that state begins: "On the machine as it is", "With CPU 1 made four times slower".

    ``first``: the beginning of the first sentence where nothing is slowed; that sentence names this machine.
    """
    words = state_words(state)
    if not first:
        return words[:1].upper() + words[1:]
    return f"On this machine, {words}" if state else first

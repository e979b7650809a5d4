"""What is to be measured, decided before the first run: configurations, rounds, and the order in each round.

The number of rounds is fixed in advance. Going on until a difference shows ("peeking") would find one between
identical programs far more often than the confidence of the interval says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tautochrone.measuring.configuration import Configuration, digest
from tautochrone.measuring.identity import Identity
from tautochrone.results.row import MEASURED

Order = Literal["shuffled", "latin"]


@dataclass(frozen=True)
class Plan:
    """A study's configurations, each to be run once in each of `rounds` rounds.

    Within a round the groups come one after the other in shuffled order, and the configurations of a group
    follow each other closely: those are compared, so those should share the machine's mood. `order` is
    ``shuffled`` (anew in every round) or ``latin`` (every configuration stands at every position, and
    after every other one, equally often). `time_limit_seconds` ends a single run. `judged` is what else
    decides what a row means, such as the objective of a search. `identity` is that of all files that are
    measured. ValueError for a plan that measures
    nothing or has two configurations with equal settings.
    """

    study: str
    configurations: Sequence[Configuration]
    rounds: int
    seed: int = 1
    time_limit_seconds: float = 600.0
    machine: Mapping[str, Any] = field(default_factory=dict)
    order: Order = "shuffled"
    source: str = MEASURED
    judged: Sequence[str] = ()
    identity: Identity = field(default_factory=Identity)

    def __post_init__(self) -> None:
        if self.rounds < 1 or not self.configurations:
            raise ValueError("a plan needs at least one configuration and one round")
        if self.time_limit_seconds <= 0:
            raise ValueError(f"a time limit of {self.time_limit_seconds} s leaves no time to run")
        seen: dict[str, str] = {}
        for configuration in self.configurations:
            if configuration.config_id in seen:
                twin = seen[configuration.config_id]
                raise ValueError(
                    f"{configuration.name!r} has the settings of {twin!r}: rows could not be told apart"
                )
            seen[configuration.config_id] = configuration.name

    @property
    def plan_id(self) -> str:
        """Twelve hexadecimal digits; equal plans may go on in one store.

        Two plans are equal if they run the same commands for the same rounds and judge them alike. The time
        limit is left out, so that it can be raised for what ran into it; folders of programs too, so that a
        build may move.
        """
        commands = sorted(
            [configuration.config_id, *configuration.portable_command()]
            for configuration in self.configurations
        )
        judged = [list(self.judged)] if self.judged else []
        return digest([self.study, self.seed, self.rounds, commands, *judged])

    def groups(self) -> dict[str, list[Configuration]]:
        """The configurations of each group, both in the order in which they were named."""
        groups: dict[str, list[Configuration]] = {}
        for configuration in self.configurations:
            groups.setdefault(configuration.group, []).append(configuration)
        return groups

    def round_order(self, number: int) -> list[list[Configuration]]:
        """The groups of round `number` (from 0) in the order of their turns, each in the order of its runs.

        A function of plan and number alone: a study that goes on after a break keeps its order.
        """
        groups = self.groups()
        turns = list(groups)
        random.Random(f"{self.seed} groups {number}").shuffle(turns)
        return [self._order_of(name, groups[name], number) for name in turns]

    def _order_of(self, name: str, members: list[Configuration], number: int) -> list[Configuration]:
        if self.order == "shuffled":
            order = list(members)
            random.Random(f"{self.seed} {self.source} {name} {number}").shuffle(order)
            return order
        rows = williams_square(len(members))
        block, row = divmod(number, len(rows))
        chance = random.Random(f"{self.seed} {self.source} {name} block {block}")
        labels, turns = list(members), list(rows)
        chance.shuffle(labels)
        chance.shuffle(turns)
        return [labels[index] for index in turns[row]]


def williams_square(count: int) -> list[list[int]]:
    """Orders of 0 ... count - 1 that are balanced for position and for what ran just before.

    Each number stands once in each column (a Latin square), and follows each other number equally often,
    so neither a warm start nor what the predecessor left behind favours anyone. `count` rows if it is
    even, twice as many if it is odd. E. J. Williams, Australian Journal of Scientific Research A 2 (1949)
    149-168.
    """
    zigzag = [0] + [(step + 1) // 2 if step % 2 else count - step // 2 for step in range(1, count)]
    square = [[(start + index) % count for index in zigzag] for start in range(count)]
    return square if count % 2 == 0 else square + [row[::-1] for row in square]

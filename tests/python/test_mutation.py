"""The tests of the statistics notice the bugs that somebody might write; `mutation` tries them all."""

from __future__ import annotations

import pytest

import mutation

pytestmark = pytest.mark.timed


def test_every_third_bug_that_is_put_into_the_statistics_is_noticed() -> None:
    tried = mutation.MUTANTS[::3]
    assert len(tried) >= 20
    alive = [mutant for mutant in tried if mutation.survives(mutant)]
    assert alive == []


def test_a_change_that_is_no_bug_is_not_called_one() -> None:
    assert mutation.survives(mutation.Mutant("verdicts", "import math\n", "import math\n\n"))

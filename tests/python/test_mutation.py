"""The tests of the statistics notice the bugs that somebody might write; see `mutation`."""

from __future__ import annotations

import pytest

import mutation

pytestmark = pytest.mark.timed


def test_the_statistics_tests_pass_without_a_bug() -> None:
    assert mutation.survives(None)


def test_every_bug_that_is_put_into_the_statistics_is_noticed() -> None:
    assert len(mutation.MUTANTS) >= 20
    alive = [mutant for mutant in mutation.MUTANTS if mutation.survives(mutant)]
    assert alive == []


def test_a_change_that_is_no_bug_is_not_called_one() -> None:
    for module, harmless in (
        ("verdicts", "import math"),
        ("measuring.measure", "from __future__ import annotations"),
    ):
        assert mutation.survives(mutation.Mutant(module, f"{harmless}\n", f"{harmless}\n\n"))

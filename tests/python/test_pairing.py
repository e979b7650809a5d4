"""Which runs are compared with which, and whose answers are believed."""

from __future__ import annotations

import pytest

from measuring import row
from tautochrone.measuring.measure import equal_answers
from tautochrone.results.row import Row, pair_rows
from tautochrone.verdicts import compare


def answering(config_id: str, answer: str | None, number: int = 0) -> Row:
    return row(config_id, number, check={"passed": True, "solution_fnv1a": answer} if answer else None)


is_serial = equal_answers(lambda one: one.config_id == "serial")


def test_pairs_are_candidate_first_and_in_the_order_of_rounds() -> None:
    rows = [row("b", 2, 5.0), row("a", 1, 1.0), row("b", 1, 2.0), row("a", 2, 4.0)]
    assert pair_rows(rows, "a", "b") == [(1.0, 2.0), (4.0, 5.0)]
    assert pair_rows(rows, "b", "a") == [(2.0, 1.0), (5.0, 4.0)]


@pytest.mark.parametrize(
    ("runs", "pairs"),
    [
        # A round that only one of the two has makes no pair, nor does a run that failed.
        ([("a", 0, 1.0), ("a", 1, 2.0), ("b", 1, 3.0), ("b", 2, 4.0)], [(2.0, 3.0)]),
        ([("a", 0, None), ("b", 0, 1.0)], []),
        # Other configurations take no part.
        ([("a", 0, 1.0), ("c", 0, 9.0), ("b", 0, 2.0)], [(1.0, 2.0)]),
        # A run that was tried again counts with its last result.
        ([("a", 0, None), ("b", 0, 2.0), ("a", 0, 1.0), ("a", 0, 7.0)], [(7.0, 2.0)]),
    ],
)
def test_rounds_in_which_both_ended_well_make_a_pair_each(
    runs: list[tuple[str, int, float | None]], pairs: list[tuple[float, float]]
) -> None:
    assert pair_rows([row(*run) for run in runs], "a", "b") == pairs


def test_pairs_follow_the_round_and_not_the_position() -> None:
    rows = [row("a", 0, 1.0, position=0), row("b", 0, 2.0, position=1)]
    rows += [row("b", 1, 4.0, position=0), row("a", 1, 3.0, position=1)]
    assert pair_rows(rows, "a", "b") == [(1.0, 2.0), (3.0, 4.0)]


def test_rows_of_equal_rounds_are_judged() -> None:
    rows = [one for number in range(8) for one in (row("a", number, 1.0), row("b", number, 2.0))]
    found = compare(pair_rows(rows, "a", "b"))
    assert (found.verdict, found.ratio, found.rounds) == ("faster", pytest.approx(0.5), 8)
    assert compare(pair_rows(rows, "b", "a")).verdict == "slower"
    assert compare(pair_rows(rows, "a", "b"), comparisons=2).verdict == "not measured"


def test_an_answer_that_is_not_the_references_is_wrong() -> None:
    wrong = is_serial([answering("serial", "aa"), answering("good", "aa"), answering("bad", "bb")])
    assert wrong == {"bad-0": "solution_fnv1a is bb, the reference gives aa"}


def test_a_row_that_says_nothing_of_its_answer_is_left_alone() -> None:
    assert is_serial([answering("serial", "aa"), answering("mute", None)]) == {}


def test_exempt_rows_may_differ() -> None:
    check = equal_answers(
        lambda one: one.config_id == "serial", exempt=lambda one: one.config_id == "openblas"
    )
    assert check([answering("serial", "aa"), answering("openblas", "bb")]) == {}


def test_without_a_reference_rows_that_differ_are_all_refused() -> None:
    wrong = is_serial([answering("a", "aa"), answering("b", "bb")])
    assert wrong.keys() == {"a-0", "b-0"}
    assert "no reference was measured" in wrong["a-0"]
    assert is_serial([answering("a", "aa"), answering("b", "aa")]) == {}
    assert is_serial([]) == {}


def test_a_reference_that_disagrees_with_itself_proves_nothing() -> None:
    wrong = is_serial([answering("serial", "aa"), answering("serial", "bb", 1), answering("a", "aa")])
    assert wrong.keys() == {"serial-0", "serial-1", "a-0"}
    assert "itself gave 2 different answers" in wrong["a-0"]

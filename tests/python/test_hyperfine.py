"""The race of `tauto compare` against hyperfine: how words are read and counted."""

from __future__ import annotations

import pytest
from benchmarks import hyperfine
from benchmarks.hyperfine import Line, bound, our_word, sentence, table, welch


def result(times: list[float]) -> dict[str, object]:
    mean = sum(times) / len(times)
    spread = (sum((one - mean) ** 2 for one in times) / (len(times) - 1)) ** 0.5
    return {"times": times, "mean": mean, "stddev": spread}


NARROW, WIDE = [1.0, 1.001, 0.999] * 10, [1.0, 1.3, 0.7] * 10


@pytest.mark.parametrize(
    ("times", "factor", "words"),
    [(NARROW, 1.02, (-1, -1)), (NARROW, 0.98, (1, 1)), (WIDE, 1.02, (0, 0)), (NARROW, 1.0, (0, 0))],
)
def test_what_hyperfine_says(times: list[float], factor: float, words: tuple[int, int]) -> None:
    pair = [result(times), result([factor * one for one in times])]
    assert (sentence(pair), welch(pair)) == words


@pytest.mark.parametrize(("verdict", "word"), [("slower", -1), ("faster", 1), ("no difference resolved", 0)])
def test_what_we_say(verdict: str, word: int) -> None:
    assert our_word({"sides": [{}, {"ratio": {"verdict": verdict}}]}) == word


def test_words_are_counted_by_what_was_compared() -> None:
    same: Line = {"factor": 1.0, "beside": True, "ours": 0, "sentence": 1, "welch": -1}
    step: Line = {"factor": hyperfine.STEP, "beside": False, "ours": -1, "sentence": 0, "welch": 1}
    step["twice"] = -1
    turn: Line = {"our_rate": 3.0, "their_rate": 2.0, "our_seconds": 1e-3, "their_seconds": 1e-3}
    lines = table([same, same, step, turn]).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [cell.split(" (")[0] for cell in cells[2][1:]] == ["0 of 2", "2 of 2", "2 of 2", ""]
    found = [cell.partition(", ")[0] for cell in cells[3][1:]]
    wrong = [cell.partition(", ")[2] for cell in cells[3][1:]]
    assert found == ["1 of 1", "0 of 1", "0 of 1", "1 of 1"]
    assert wrong == [f"{count} the wrong way" for count in (0, 0, 1, 0)]
    assert cells[4][3] == "ours / theirs: 1.500"


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    assert bound(0, 500) == pytest.approx(0.006, abs=2e-4)
    assert bound(5, 5) == 1.0

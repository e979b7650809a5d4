"""`make honesty`: what it counts, what it writes, and that its trials measure what they say."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec
import pytest
from benchmarks import honesty
from benchmarks.honesty import Bench, Trials, compare_trial, counted, neighbour, study_trial, table

from processes import family_of
from tautochrone.verdicts import FASTER, NO_DIFFERENCE, NOT_MEASURED, SLOWER, Comparison, Verdict

KNOWN = (FASTER, SLOWER, NO_DIFFERENCE, NOT_MEASURED)


def found_to_be(verdict: Verdict, high: float | None = 1.1) -> Comparison:
    return Comparison(1.0, None if high is None else 1 / high, high, 0.99, 8, verdict)


def test_words_are_counted_and_so_are_trials_without_a_verdict() -> None:
    found = Trials("tune", False)
    for verdict in (NO_DIFFERENCE, FASTER, SLOWER, NO_DIFFERENCE):
        found = counted(found, found_to_be(verdict))
    found = counted(found, found_to_be(NOT_MEASURED, None))
    assert (found.trials, found.false, found.untold) == (5, 2, 1)
    assert found.resolved == pytest.approx([0.1] * 4)


@pytest.mark.parametrize(("trials", "false", "bound"), [(20, 0, 0.139), (200, 0, 0.0149), (200, 2, 0.0311)])
def test_the_bound_is_that_of_clopper_and_pearson(trials: int, false: int, bound: float) -> None:
    assert Trials("x", False, trials, false).upper_bound == pytest.approx(bound, rel=0.01)


def test_without_trials_nothing_is_excluded() -> None:
    assert Trials("x", False).upper_bound == 1.0


def test_the_table_names_command_surrounding_and_bound() -> None:
    lines = table([Trials("compare", True, 200, 1, 3, (0.02, 0.123, 0.5))]).splitlines()
    assert lines[2] == "| `compare` | a program that comes and goes | 200 | 1 | 3 | 2.3 % | 12 % |"


@pytest.mark.timed
@pytest.mark.parametrize("trial", [compare_trial, study_trial])
def test_a_trial_measures_a_program_against_itself(
    trial: honesty.Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honesty, "STEPS", (100, 200))
    monkeypatch.setattr(honesty, "LONGEST_PAUSE_SECONDS", 0.0)
    assert trial(Bench(tmp_path, {"machine": "0123456789ab"}, random.Random(1))).verdict in KNOWN


@pytest.mark.timed
def test_the_neighbour_is_there_only_where_it_is_wanted() -> None:
    before = family_of(os.getpid())
    with neighbour(True, 1):
        assert len(family_of(os.getpid()) - before) == 1
    with neighbour(False, 1):
        assert not family_of(os.getpid()) - before


@pytest.mark.timed
def test_trials_go_on_where_an_earlier_call_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"compare": 0, "study": 0}

    def trial(command: str, verdict: Verdict) -> honesty.Trial:
        def count(bench: Bench) -> Comparison:
            made[command] += 1
            return found_to_be(verdict)

        return count

    monkeypatch.setattr(
        honesty,
        "TRIALS",
        {"compare": trial("compare", NO_DIFFERENCE), "study": trial("study", SLOWER)},
    )
    monkeypatch.setattr(honesty, "read_machine", lambda measure: honesty_machine)
    output = tmp_path / "honesty.json"

    def call(*words: str) -> dict[tuple[str, bool], Trials]:
        assert honesty.main([*words, "--seed", "1", "--output", str(output)]) == 0
        kept = msgspec.json.decode(output.read_bytes(), type=list[Trials])
        return {(one.command, one.beside): one for one in kept}

    assert call("--compare", "3", "--study", "1", "--only", "beside").keys() == {
        ("compare", True),
        ("study", True),
    }
    assert made == {"compare": 3, "study": 1}
    kept = call("--compare", "5", "--study", "1")
    assert made == {"compare": 10, "study": 2}
    assert kept["compare", False].trials == kept["compare", True].trials == 5
    assert kept["study", True].false == 1
    assert "| `study` |" in output.with_suffix(".md").read_text()
    call("--compare", "9", "--seconds", "0")
    assert made["compare"] == 10


class _Machine:
    def to_dict(self) -> dict[str, object]:
        return {"machine": "0123456789ab"}


honesty_machine = _Machine()

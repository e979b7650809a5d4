"""The suite's rows on tauto run and tauto tune (B26, B27), on a mock executor."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tautochrone.clock import VirtualClock
from tautochrone.errors import TautoError
from tautochrone.mock_executor import MockExecutor
from test_benchmarks import ActingExecutor, context

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import applying, suite, weighted
from benchmarks.entry import Entry

# -- B26 --


@pytest.mark.parametrize(
    ("start_ms", "run_seconds", "met", "cell"),
    [(20.0, 5.02, True, "run"), (20.0, 5.2, False, "run"), (60.0, 5.02, False, "start")],
)
def test_both_the_start_and_the_run_under_a_profile_are_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    start_ms: float,
    run_seconds: float,
    met: bool,
    cell: str,
) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(applying, "find", lambda name: Path("/bin") / name)
    monkeypatch.setattr(applying, "seconds_of_one_pass", lambda: 1e-4)
    monkeypatch.setattr(
        applying, "seconds_of", lambda command: 0.001 + (start_ms / 1000 if "run" in command else 0.0)
    )

    def figure(settings: Any) -> float:
        return run_seconds if settings["label"] == "applied" else 5.0

    own, start, run = applying.starting(context(tmp_path, clock, ActingExecutor(clock, figure)))
    assert start.ratio == pytest.approx(start_ms)
    assert run.ratio == pytest.approx(run_seconds / 5.0)
    assert (own.id, own.met) == ("B26", met)
    assert f"farthest from its target: {cell}" in own.note


# -- B27 --


class Machine:
    """Stands in for what B27 needs around its runs: a compiler, the search, the emulation."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.clock = VirtualClock()
        self.executor = ActingExecutor(self.clock, lambda settings: seconds[settings["name"]])
        self.context = context(tmp_path, self.clock, MockExecutor(self.clock))
        answer = weighted.Answer({"weighted_places": "0:4,1:1"}, "Use weighted places.")
        for name, stand_in in {
            "available": lambda: (True, ""),
            "built": lambda compiler, folder: ["./static_loop", "20", "100"],
            "searched": lambda *asked: answer,
            "emulated": lambda slow: contextlib.nullcontext(),
            "SubprocessExecutor": lambda **options: contextlib.nullcontext(self.executor),
        }.items():
            monkeypatch.setattr(weighted, name, stand_in)
        monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")

    def rows(self) -> dict[str, Entry]:
        return {one.id: one for one in weighted.unequal_cores(self.context)}


def test_a_tuned_loop_is_held_against_the_bound_and_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {"default": 2.0, "tuned": 0.84, "CPU 0": 1.0, "CPU 1": 4.0}
    found = Machine(tmp_path, monkeypatch, **seconds).rows()
    assert found["B27/bound"].ratio == pytest.approx(0.84 / 0.8)
    assert found["B27/default"].ratio == pytest.approx(0.42)
    assert (found["B27"].ratio, found["B27"].met) == (found["B27/bound"].ratio, True)
    assert found["B27"].rounds >= 8


def test_the_cell_farthest_from_its_own_target_stands_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {"default": 1.0, "tuned": 0.84, "CPU 0": 1.0, "CPU 1": 4.0}
    found = Machine(tmp_path, monkeypatch, **seconds).rows()
    assert (found["B27"].ratio, found["B27"].target) == (pytest.approx(0.84), weighted.DEFAULT_TARGET)
    assert found["B27"].met is False


def test_both_sides_run_on_the_same_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"default": 2.0, "tuned": 0.84, "CPU 0": 1.0, "CPU 1": 4.0}
    machine = Machine(tmp_path, monkeypatch, **seconds)
    machine.rows()
    used = {one.name: one.start["cpus"] for one in machine.executor.ran}
    assert used == {"default": [0, 1], "tuned": [0, 1], "CPU 0": [0], "CPU 1": [1]}
    (tuned,) = {one.environment["OMP_PLACES"] for one in machine.executor.ran if one.name == "tuned"}
    assert tuned == "{0},{0},{0},{0},{1}"


def test_a_search_that_fails_is_a_row_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch)

    def failing(*asked: Any) -> weighted.Answer:
        raise TautoError("tauto tune failed: a budget of 10 s is too small", "Try it alone")

    monkeypatch.setattr(weighted, "searched", failing)
    assert suite.run(suite.chosen("B27"), machine.context, lambda: None)
    (row,) = machine.context.results.rows()
    assert (row["id"], row["met"]) == ("B27", None)
    assert "too small" in row["note"]

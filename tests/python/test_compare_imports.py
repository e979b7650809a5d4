"""Results of other tools: compared where both sides were measured together, else refused with the remedy."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from processes import run_to_end, with_lab
from tautochrone.cli.main import main
from tautochrone.comparing.imports import compare_files, is_result
from tautochrone.errors import TautoError


def written(path: Path, record: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return str(path)


def noisy(seconds: float, count: int = 20, seed: int = 1) -> list[float]:
    chance = random.Random(seed * 1000 + int(seconds * 1e6))
    return [seconds * (1.0 + abs(chance.gauss(0.0, 0.01))) for _ in range(count)]


def google(
    sides: dict[str, Sequence[float]], *, context: dict[str, str] | None = None, order: Sequence[str] = ()
) -> dict[str, Any]:
    """A file as of --benchmark_out; `order`: in which the benchmarks ended."""
    runs = []
    for name in order or sides:
        for number, seconds in enumerate(sides[name]):
            runs.append(
                {
                    "name": name,
                    "run_name": name,
                    "run_type": "iteration",
                    "family_index": list(sides).index(name),
                    "per_family_instance_index": 0,
                    "repetition_index": number,
                    "real_time": seconds * 1e6,
                    "time_unit": "us",
                }
            )
        runs.append({"name": f"{name}_median", "run_name": name, "run_type": "aggregate", "real_time": 1.0})
    return {"context": {"date": "2026-01-01", **(context or {})}, "benchmarks": runs}


def pyperf(sides: dict[str, Sequence[tuple[int, float]]]) -> dict[str, Any]:
    """Runs as (second of the day, seconds)."""
    benchmarks = [
        {
            "metadata": {"name": name},
            "runs": [
                {"metadata": {"calibrate_loops": 1, "date": "2026-01-01 00:00:00"}, "warmups": [[1, 0.5]]},
                *(
                    {"metadata": {"date": f"2026-01-01 {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"},
                     "values": [seconds, seconds * 1.01, seconds]}
                    for at, seconds in runs
                ),
            ],
        }
        for name, runs in sides.items()
    ]  # fmt: skip
    return {"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks}


def hyperfine(sides: dict[str, Sequence[float]]) -> dict[str, Any]:
    results = [
        {"command": name, "mean": 1.0, "times": list(times), "exit_codes": [0] * len(times)}
        for name, times in sides.items()
    ]
    return {"results": results}


def criterion(folder: Path, name: str, baseline: str, seconds: Sequence[float]) -> str:
    iters = [float(10 * (number + 1)) for number in range(len(seconds))]
    times = [own * calls * 1e9 for own, calls in zip(seconds, iters, strict=True)]
    record = {"sampling_mode": "Linear", "iters": iters, "times": times}
    return written(folder / "target" / "criterion" / name / baseline / "sample.json", record)


def test_shuffled_repetitions_of_google_benchmark(tmp_path: Path) -> None:
    sides = {"BM_old": noisy(1e-3), "BM_new": noisy(0.9e-3)}
    said = written(tmp_path / "said.json", google(sides, context={"random_interleaving": "true"}))
    seen = written(tmp_path / "seen.json", google(sides, order=["BM_new", "BM_old"]))
    for path in (said, seen):
        found = compare_files([f"{path}@BM_old", f"{path}@BM_new"])
        assert [side.name for side in found.sides] == ["BM_old", "BM_new"]
        assert found.rivals[0].verdict == "faster"
        assert found.reference.figure == pytest.approx(1e-3, rel=0.05)
        assert found.rivals[0].ratio is not None
        assert found.rivals[0].ratio.value == pytest.approx(0.9, rel=0.02)
        assert "shuffled all repetitions" in found.remarks[0]
        assert is_result(path)


def test_shuffled_repetitions_are_not_taken_for_pairs(tmp_path: Path) -> None:
    """A drift that is larger than the noise makes neighbours of equal index alike by the order alone."""
    wrong = 0
    for trial in range(150):
        chance = random.Random(trial)
        order = ["a"] * 12 + ["b"] * 12
        chance.shuffle(order)
        sides: dict[str, list[float]] = {"a": [], "b": []}
        for place, name in enumerate(order):
            sides[name].append(1e-3 * (1.0 + 0.01 * place + chance.gauss(0.0, 1e-4)))
        path = written(tmp_path / "one.json", google(sides, context={"random_interleaving": "true"}))
        wrong += compare_files([path]).rivals[0].verdict != "no difference resolved"
    assert wrong <= 5


def test_rounds_are_files_that_have_both(tmp_path: Path) -> None:
    makers: dict[str, Callable[[float, float], dict[str, Any]]] = {
        "hyperfine": lambda old, new: hyperfine({"./old": [old], "./new": [new]}),
        "google": lambda old, new: google({"./old": [old], "./new": [new]}),
        "pyperf": lambda old, new: pyperf({"./old": [(1, old)], "./new": [(2, new)]}),
    }
    for tool, make in makers.items():
        values = zip(noisy(1.0, 12), noisy(1.1, 12), strict=True)
        paths = [written(tmp_path / f"{tool}-{n}.json", make(*both)) for n, both in enumerate(values)]
        found = compare_files(paths)
        assert found.rivals[0].verdict == "slower"
        assert found.rounds == 12
        assert "may have run before ./new" in found.remarks[0]


def test_baselines_of_criterion_are_rounds(tmp_path: Path) -> None:
    paths = []
    for number in range(10):
        paths.append(criterion(tmp_path, "sort/old", f"r{number}", noisy(1e-6, 30, number)))
        paths.append(criterion(tmp_path, "sort/new", f"r{number}", noisy(0.8e-6, 30, number)))
    found = compare_files(paths)
    assert [side.name for side in found.sides] == ["sort/old", "sort/new"]
    assert found.rivals[0].verdict == "faster"
    assert found.reference.figure == pytest.approx(1e-6, rel=0.05)


def test_runs_of_pyperf_in_turns_are_pairs(tmp_path: Path) -> None:
    old = [(20 * n, seconds) for n, seconds in enumerate(noisy(1.0))]
    new = [(20 * n + 10, seconds) for n, seconds in enumerate(noisy(0.9))]
    both = written(tmp_path / "both.json", pyperf({"old": old, "new": new}))
    found = compare_files([both])
    assert found.rivals[0].verdict == "faster"
    assert found.rounds == 20
    apart = [written(tmp_path / f"{name}.json", pyperf({name: runs})) for name, runs in
             (("old", old), ("new", new))]  # fmt: skip
    assert compare_files(apart).rivals[0].ratio == found.rivals[0].ratio


@pytest.mark.parametrize(
    ("records", "reason", "remedy"),
    [
        ([google({"a": [1.0] * 9, "b": [2.0] * 9})], "nothing in the file says", "random_interleaving=true"),
        ([hyperfine({"a": [1.0] * 9, "b": [2.0] * 9})], "hyperfine ran all of a before", "compare --"),
        (
            [pyperf({"a": [(n, 1.0) for n in range(9)], "b": [(n + 99, 1.0) for n in range(9)]})],
            "pyperf ran all of a before b",
            "--append",
        ),
        ([hyperfine({"a": [1.0] * 9}), hyperfine({"b": [1.0] * 9})], "in 2 files", "in turns"),
        ([hyperfine({"a": [1.0] * 9}), hyperfine({"a": [1.0] * 9})], "one benchmark, a, in 2 sittings",
         "--revisions"),
        ([hyperfine({"a": [1.0] * 9})], "nothing to compare it with", "Name another"),
        ([google({"a": [1.0] * 7, "b": [2.0] * 7}, context={"random_interleaving": "true"})],
         "a has 7 repetitions, and a verdict needs 8", "--benchmark_repetitions"),
        ([google({"a": [], "b": []})], "has no single runs", "aggregates_only"),
        ([google({"a": [0.0] * 9, "b": [1.0] * 9})], "has no times of a", "again"),
        ([{"context": {}, "benchmarks": [{"name": "a"}]}], "cannot be understood", "Export it again"),
        ([{"results": []}], "is no result of", "--export-json"),
        ([[1, 2]], "is no result of", "--export-json"),
    ],
)  # fmt: skip
def test_what_was_not_measured_together_is_refused_with_the_remedy(
    tmp_path: Path, records: list[Any], reason: str, remedy: str
) -> None:
    paths = [written(tmp_path / f"{number}.json", record) for number, record in enumerate(records)]
    with pytest.raises(TautoError) as refusal:
        compare_files(paths)
    assert reason in refusal.value.message
    assert remedy in refusal.value.remedy


def test_criterion_before_and_after_are_two_sittings(tmp_path: Path) -> None:
    paths = [criterion(tmp_path, "sort", baseline, noisy(1e-6)) for baseline in ("base", "new")]
    with pytest.raises(TautoError, match=r"sort, in 2 sittings.*--revisions"):
        compare_files(paths)


def test_the_command_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = {"BM_old": noisy(1e-3), "BM_new": noisy(1.2e-3)}
    path = written(tmp_path / "both.json", google(sides, context={"random_interleaving": "true"}))
    assert main(["compare", path, "--fail-if-slower", "5%"]) == 3
    assert "BM_new takes 20 % more time than BM_old" in capsys.readouterr().out
    apart = [written(tmp_path / f"{name}.json", hyperfine({name: own})) for name, own in sides.items()]
    assert main(["compare", *apart]) == 2
    assert "drift cannot be told from a difference" in capsys.readouterr().err


@pytest.mark.timed
def test_a_reader_that_has_gone_changes_neither_the_code_nor_the_files(tmp_path: Path) -> None:
    sides = {"BM_old": noisy(1e-3), "BM_new": noisy(1.2e-3)}
    path = written(tmp_path / "both.json", google(sides, context={"random_interleaving": "true"}))
    kept = tmp_path / "kept.md"
    words = ["compare", path, "--fail-if-slower", "5%", "--export-markdown", str(kept)]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_to_end(
            [sys.executable, "-m", "tautochrone", *words],
            capture_output=False,
            stdout=writing,
            stderr=subprocess.PIPE,
            env=with_lab(),
        )
    finally:
        os.close(writing)
    assert done.returncode == 3, done.stderr
    assert "Exception ignored" not in done.stderr
    assert "BM_new" in kept.read_text()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"results": [')
    with pytest.raises(TautoError, match="is no JSON"):
        compare_files([str(tmp_path / "half.json")])
    with pytest.raises(TautoError, match="cannot be read: No such file"):
        compare_files([str(tmp_path / "none.json")])
    path = written(tmp_path / "a.json", hyperfine({"a": [1.0], "b": [1.0]}))
    with pytest.raises(TautoError, match=r"has no benchmark 'c'. It has a, b"):
        compare_files([f"{path}@c"])
    assert not is_result(str(tmp_path / "half.json"))
    assert not is_result(str(tmp_path))
    assert is_result(f"{path}@a")

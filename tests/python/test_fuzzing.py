"""Damaged inputs end in words: some thousands of fuzzing.py; `make soak` makes as many as wanted."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corpus
from processes import run_to_end, with_lab
from runner_processes import FOLDER, needs_runners
from tautochrone.comparing.imports import compare_files
from tautochrone.errors import TautoError
from tautochrone.measuring.answers import read_answer
from tautochrone.measuring.subprocess_executor import Answer
from test_compare_imports import google, hyperfine, noisy, written

FUZZING = Path(__file__).with_name("fuzzing.py")
COUNTS = {
    "elf": 400,
    "script": 600,
    "command": 2000,
    "machine_file": 400,
    "model": 300,
    "options": 400,
    "settings": 300,
    "trees": 100,
    "profile": 50_000,
    "simulator": 5000,
}
CHANGED = {
    "store": 30,
    "analysis": 30,
    "resumed": 30,
    "page": 10,
    "against": 30,
    "saved": 200,
    "context": 300,
    "runner": 300,
    "imports": 300,
    "answers": 1000,
}


@needs_runners
@pytest.mark.timed
@pytest.mark.parametrize("reader", COUNTS)
def test_no_damaged_input_is_a_defect_a_hang_or_takes_a_gigabyte(reader: str) -> None:
    environment = with_lab(TAUTO_RUNNERS=str(Path(FOLDER or "").resolve()))
    words = [sys.executable, FUZZING, "--only", reader, "--inputs", COUNTS[reader]]
    done = run_to_end([str(word) for word in words], env=environment, cwd=FUZZING.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{reader}: {COUNTS[reader]} inputs, 0 findings\n"


@needs_runners
@pytest.mark.timed
def test_what_a_reader_of_an_executable_does_wrong_is_found_and_the_others_go_on() -> None:
    environment = with_lab(TAUTO_RUNNERS=str(Path(FOLDER or "").resolve()))
    words = [sys.executable, FUZZING, "--only", "trap", "--inputs", "100"]
    done = run_to_end([str(word) for word in words], env=environment, cwd=FUZZING.parent)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "trap: 100 inputs" in done.stdout
    assert "it throws a number that is none" in done.stdout
    assert f"it ended with -{int(signal.SIGABRT)}, as at input" in done.stdout
    assert f"it ended with -{int(signal.SIGPROF)}, as at input" in done.stdout  # a hang


@needs_runners
@pytest.mark.timed
def test_no_changed_value_of_a_store_or_an_answer_is_a_defect() -> None:
    """In one process, which measures the stores that it changes once."""
    words = [str(FUZZING)]
    for reader, count in CHANGED.items():
        words += ["--only", reader, "--inputs-of", f"{reader}={count}"]
    environment = with_lab(TAUTO_RUNNERS=str(Path(FOLDER or "").resolve()))
    done = run_to_end([sys.executable, *words], env=environment, cwd=FUZZING.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "".join(f"{one}: {count} inputs, 0 findings\n" for one, count in CHANGED.items())


# -- what was found once --


def changed_store(kind: str, change: Callable[[list[Any], dict[str, Any]], None]) -> bytes:
    """A whole store after a change of its records or of its study.json."""
    records, context = json.loads(json.dumps([corpus.known(kind).records, corpus.known(kind).context]))
    change(records, context)
    return f"{kind}\n{json.dumps(context)}\n".encode() + corpus.written(records, kind)


@pytest.mark.parametrize("detail", [{"runs": "nan"}, {"runs": {}}, {"faults": [1]}])
def test_a_compared_row_whose_figures_are_none_is_named(tmp_path: Path, detail: dict[str, Any]) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        records[5]["detail"] = detail

    with pytest.raises(TautoError, match=r"line 6 of .* is not a row"):
        corpus.saved_before(changed_store(corpus.SITTING, change), tmp_path)


def test_cpu_time_of_others_that_is_negative_is_none(tmp_path: Path) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        for record in records[2:]:
            record |= {"others_cpu_seconds": -1e9, "elapsed_seconds": 0.0}

    corpus.saved_before(changed_store(corpus.SITTING, change), tmp_path)
    corpus.analysis(changed_store(corpus.COMPARISON, change), tmp_path)


@pytest.mark.parametrize("kind", [corpus.SEARCH, corpus.COMPARISON])
@pytest.mark.parametrize("cpus", [5, ["x"], [{"cpu": []}]])
def test_a_machine_that_is_none_is_refused_in_every_report(tmp_path: Path, kind: str, cpus: object) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        records[1]["cpus"] = cpus

    with pytest.raises(TautoError, match=r"a record of the machine in .* is none"):
        corpus.page(changed_store(kind, change), tmp_path)


def test_a_store_without_a_machine_cannot_be_held_against_its_simulation(tmp_path: Path) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        records[:] = [record for record in records if "run" in record or record is records[0]]

    with pytest.raises(TautoError, match="the machine's record cannot be read"):
        corpus.against(changed_store("mapreduce", change), tmp_path)


def test_a_study_whose_serial_runs_all_failed_is_judged_all_the_same(tmp_path: Path) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        for record in records[2:]:
            if record.get("config", {}).get("runtime") == "serial":
                record |= {"seconds": None, "error": {"kind": "failed", "message": "killed"}}

    for kind in corpus.STUDIES:
        corpus.analysis(changed_store(kind, change), tmp_path / kind)


def test_a_comparison_without_any_good_run_has_a_page(tmp_path: Path) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        for record in records[2:]:
            record |= {"seconds": None, "error": {"kind": "failed", "message": "killed"}}

    corpus.page(changed_store(corpus.COMPARISON, change), tmp_path)


def test_a_command_in_study_json_with_an_open_quote_is_refused(tmp_path: Path) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        context["command"] = "tauto study 'loop"

    with pytest.raises(TautoError, match="No closing quotation"):
        corpus.page(changed_store("loop", change), tmp_path)


@pytest.mark.parametrize("seconds", [0, -1.0, 1e300])
def test_a_speed_that_cannot_be_is_refused_before_a_study_goes_on(tmp_path: Path, seconds: float) -> None:
    def change(records: list[Any], context: dict[str, Any]) -> None:
        context["seconds_per_byte"] = seconds

    with pytest.raises(TautoError):
        corpus.context(changed_store("mapreduce", change).rpartition(b"\n{")[0], tmp_path)


@pytest.mark.parametrize("times", [[1e400], [0.0] * 9, [-1.0] * 9, [None], [], ["x"]])
def test_times_of_another_tool_that_are_none_are_refused(tmp_path: Path, times: list[Any]) -> None:
    path = written(tmp_path / "round.json", hyperfine({"old": noisy(0.1), "new": times}))
    with pytest.raises(TautoError):
        compare_files([path])


@pytest.mark.parametrize("field", ["repetition_index", "family_index", "real_time", "run_name"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), []])
def test_a_field_of_another_tool_that_is_none_is_refused(tmp_path: Path, field: str, value: object) -> None:
    record = google({"old": noisy(0.1), "new": noisy(0.2)}, context={"random_interleaving": "1"})
    for run in record["benchmarks"][:3]:
        run[field] = value
    with pytest.raises(TautoError):
        compare_files([written(tmp_path / "google.json", record)])


@pytest.mark.parametrize(
    "line", [b"Welcome to node7\x1b[2J\n", b"[1]", b'{"start_error": 4000000000}', b"[" * 9000]
)
def test_an_answer_that_is_none_says_how_it_begins(line: bytes) -> None:
    with pytest.raises(TautoError, match=r"the output of srun cannot be read: .* it begins with") as refused:
        read_answer(line, Answer, "srun")
    assert "\x1b" not in str(refused.value)

"""The answer: words, table, effects, lines to paste, report; from rows that were made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from page_content import embedded, visible
from tautochrone import report
from tautochrone.row import Row
from tautochrone.tune.analysis import analyse
from tautochrone.tune.effect_check import displayed, same
from tautochrone.tune.effects import main_effects
from tautochrone.tune.objective import parse_objective
from tautochrone.tune.paste import settings_to_paste, write_profile
from tautochrone.tune.space import DEFAULT
from tune_answers import FASTER, answer, context, rows_of
from tune_fakes import machine


def test_the_first_sentence_says_what_to_set_and_what_it_brings() -> None:
    assert answer().verdict_sentences[0] == (
        "Use 8 OpenMP threads and loops shared as dynamic,2: 23 % less time than now (23 to 23 %), 38 runs."
    )


def test_a_result_that_is_not_resolved_is_left_alone() -> None:
    found = analyse([*rows_of(DEFAULT, {}, 1.0), *_wavering("winner", FASTER)], {}, context())
    assert found.winner == DEFAULT
    assert found.settings == {}
    said = found.verdict_sentences[0]
    assert said.startswith("Leave it as it is: no other setting is better as far as 24 runs can resolve")
    assert "8 OpenMP threads" in said
    assert found.settings_to_paste == ()


def _wavering(name: str, settings: dict[str, str]) -> list[Row]:
    return [
        one | {"seconds": 1.05 if number % 2 else 0.95}
        for number, one in enumerate(rows_of(name, settings, 1.0))
    ]


def test_too_few_rounds_make_no_verdict() -> None:
    found = analyse([*rows_of(DEFAULT, {}, 1.0, 5), *rows_of("winner", FASTER, 0.5, 5)], {}, context())
    assert found.winner == DEFAULT
    assert "the budget ended before 8 rounds" in found.verdict_sentences[0]


def test_what_failed_never_wins_and_is_named() -> None:
    bad = [one | {"seconds": None, "error": {"kind": "failed", "message": "it was killed by SIGSEGV"}}
           for one in rows_of("bad", {"X": "1"}, 0.1, 2, "screening")]  # fmt: skip
    found = analyse([*rows_of(DEFAULT, {}, 1.0), *rows_of("other", FASTER, 1.2), *bad], {}, context())
    assert found.winner == DEFAULT
    assert any("bad (it was killed by SIGSEGV)" in one for one in found.verdict_sentences)


def test_larger_can_be_better() -> None:
    objective = parse_objective("regex-max:([0-9.,]+) ns/day")
    assert objective.matched("1.5 ns/day\nthen 3,000.5 ns/day") == 3000.5
    rows = [
        *(one | {"detail": {"objective": 10.0}} for one in rows_of(DEFAULT, {}, 1.0)),
        *(one | {"detail": {"objective": 12.5}} for one in rows_of("winner", FASTER, 1.0)),
    ]
    found = analyse(rows, {}, context(objective="regex-max:([0-9.]+) ns/day"))
    assert "25 % higher than now (25 to 25 %)" in found.verdict_sentences[0]


def test_memory_and_energy_have_their_own_figures() -> None:
    memory = rows_of(DEFAULT, {}, 1.0, max_rss_bytes=1 << 20)
    assert parse_objective("memory").figure(memory[0]) == 1 << 20
    metered = rows_of(DEFAULT, {}, 2.0, energy={"status": "measured", "joules": 30.0})
    assert parse_objective("energy").figure(metered[0]) == 30.0
    assert parse_objective("edp").figure(metered[0]) == 60.0


def test_main_effects_are_found_again() -> None:
    grid = [
        (
            {**({"T": t} if t else {}), **({"S": s} if s else {})},
            base * (0.5 if t == "8" else 1) * (1.2 if s else 1),
        )
        for t in ("", "4", "8")
        for s in ("", "x")
        for base in (1.0,)
    ]
    found = {(one.knob, one.value): one for one in main_effects(grid)}
    assert found[("T", "8")].factor == pytest.approx(0.5)
    assert found[("S", "x")].factor == pytest.approx(1.2)
    assert found[("T", "4")].factor == pytest.approx(1.0)
    assert main_effects(grid[:1]) == ()


def test_lines_to_paste_have_the_settings_of_each_place() -> None:
    settings = {"OMP_NUM_THREADS": "8", "nice": "5"}
    lines = {one.label: one.text for one in settings_to_paste(context(), settings)}
    assert "export OMP_NUM_THREADS=8\nnice -n 5 ./solver case.in" in lines["Shell"]
    assert 'Environment="OMP_NUM_THREADS=8"\nNice=5\nExecStart=./solver case.in' in lines["systemd unit"]
    assert "srun --cpu-bind=none nice -n 5 ./solver case.in" in lines["Slurm script"]
    assert 'ENV OMP_NUM_THREADS="8"\nCMD ["./solver", "case.in"]' in lines["Dockerfile"]
    pinned = {one.label: one.text for one in settings_to_paste(context(), {"cpus": "0-2"})}
    assert "taskset -c 0,1,2 ./solver case.in" in pinned["Shell"]
    assert "CPUAffinity=0 1 2" in pinned["systemd unit"]


def test_the_profile_holds_what_tauto_run_applies(tmp_path: Path) -> None:
    path = write_profile(tmp_path, context(), {"weighted_places": "0:2,1:1", "nice": "5"}, "Use it.")
    profile = json.loads(path.read_text())
    assert profile["schema"] == "tautochrone.profile/1"
    assert profile["environment"]["OMP_PLACES"] == "{0},{0},{1}"
    assert profile["nice"] == 5
    assert profile["command"] == ["./solver", "case.in"]


def test_the_report_shows_words_charts_and_lines_to_paste(tmp_path: Path) -> None:
    found = answer()
    rows = rows_of(DEFAULT, {}, 1.0)
    path = report.write(rows, machine().to_dict(), tmp_path / "report.html", study="tune", extra=found)
    text = path.read_text()
    assert found.verdict_sentences[0] in visible(text)
    assert set(embedded(text)["charts"]) == {"final", "candidates", "effects"}
    assert "OMP_NUM_THREADS=8" in text
    assert "libgomp.so.1 is linked" in text


def test_what_a_runtime_displays_is_understood() -> None:
    gnu = "OPENMP DISPLAY ENVIRONMENT BEGIN\n  OMP_NUM_THREADS = '5'\n  OMP_PLACES = '{0},{0},{1}'\n"
    assert displayed(gnu) == {"OMP_NUM_THREADS": "5", "OMP_PLACES": "{0},{0},{1}"}
    assert displayed("   [host] OMP_WAIT_POLICY='PASSIVE'\n") == {"OMP_WAIT_POLICY": "PASSIVE"}
    assert same("passive", "PASSIVE")
    assert same("dynamic,4", "DYNAMIC,4")
    assert same("cores", "{0},{1}")
    assert same("{0},{1}", "{0:1},{1:1}")
    assert not same("{0},{0},{1}", "{0},{1}")
    assert not same("4", "2")

"""The race: how cells are drawn, kept and reported, and one real cell."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from benchmarks import race
from benchmarks.race import Cell, Outcome
from rich.console import Console

from tautochrone.errors import TautoError


def outcome(ratio: float, iterations: int = 32, low: float | None = 0.1) -> Outcome:
    cell = Cell("even", iterations, 100)
    return Outcome("build", cell, "tbb, auto 1", ratio, low, 9.0, ratio / 2, 1e-5, 3.0, "ours 1 µs")


def test_a_cell_depends_on_the_seed_and_its_number_alone() -> None:
    cells = [race.drawn(1, number) for number in range(300)]
    assert cells == [race.drawn(1, number) for number in range(300)]
    assert race.drawn(2, 0) != cells[0]
    assert {cell.kernel for cell in cells} == set(race.KERNELS)
    assert min(cell.iterations for cell in cells) < 10
    assert max(cell.iterations for cell in cells) > 1_000_000
    gaps = [cell.gap for cell in cells if cell.gap]
    assert min(gaps) < 30
    assert max(gaps) > 30_000
    assert 80 < len(gaps) < 120
    assert 80 < sum(cell.other for cell in cells) < 120
    assert 120 < sum(cell.idle > 0 for cell in cells) < 180
    assert 20 < sum(cell.neighbour for cell in cells) < 55
    assert {cell.members for cell in cells} == {2}
    assert {race.drawn(1, number, 4).members for number in range(50)} == {2, 3, 4}


def test_a_cell_is_read_as_it_is_written() -> None:
    for number in range(100):
        cell = race.drawn(3, number)
        assert race.parse_cell(cell.text) == cell


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kernel=even",
        "kernel=nothing,iterations=3,nanoseconds=1",
        "kernel=even,iterations=0,nanoseconds=1",
        "kernel=even,iterations=9,nanoseconds=nan",
        "kernel=even,iterations=9,nanoseconds=1,other=yes",
        "kernel=even,iterations=9,nanoseconds=1,members=1",
        "kernel=even,iterations=9,nanoseconds=1,speed=3",
    ],
)
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(TautoError, match="is not a cell"):
        race.parse_cell(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cells", "0"], "0 cells were asked for"),
        (["--emulate", "0.5"], "a CPU cannot be made 0.5 times slower"),
        (["--cell", "kernel=x"], "'kernel=x' is not a cell"),
        (["--cpus", "0"], "a race needs two CPUs"),
        (["--cell", "kernel=even,iterations=9,nanoseconds=1,members=3"], "the cell has 3 members"),
        (["--rounds", "3"], "No such option"),
    ],
)
def test_bad_input_is_one_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert race.main(words) == 2
    assert said in capsys.readouterr().err


def test_cells_are_kept_a_line_each_and_a_cut_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "new" / "race.json"
    assert race.read(path) == []
    kept = [outcome(1.0), outcome(0.5, 64)]
    for one in kept:
        race.write(path, one)
    with path.open("ab") as file:
        file.write(b'{"cell":{"kernel":"ev')
    assert race.read(path) == kept
    race.write(path, kept[0])
    assert race.read(path) == [*kept, kept[0]]


def test_the_report_has_the_distribution_and_the_ten_worst() -> None:
    outcomes = [outcome(0.5 + number / 100, number + 1) for number in range(101)]
    shown = io.StringIO()
    race.report(outcomes, Console(file=shown, width=150))
    text = shown.getvalue()
    assert "101 cells" in text
    assert [word for word in text.splitlines()[1].split() if word[0].isdigit()] == [
        "1.000",
        "1.400",
        "1.490",
        "1.500",
    ]
    assert text.count("of tbb, auto 1: ours 1 µs") == 20
    assert "Not counted" not in text
    assert race.spread([1.25]) == (1.25, 1.25, 1.25, 1.25)
    assert text.index("1.500 [0.100") < text.index("1.490 [0.100")
    assert (
        "make race CELL=kernel=even,iterations=101,nanoseconds=100,gap=0,idle=0,other=0,neighbour=0,members=2"
        in text
    )


def test_cells_of_too_few_rounds_are_not_counted() -> None:
    shown = io.StringIO()
    race.report([outcome(1.0), outcome(7.0, 5, low=None)], Console(file=shown, width=150), "EMULATE=4 ")
    text = shown.getvalue()
    assert "Not counted, for fewer than 8 rounds: 1 cell" in text
    assert "7.000" not in text
    assert "make race EMULATE=4 CELL=" in text


@pytest.mark.machine
@pytest.mark.timed
def test_a_race_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "ROUNDS", 2)
    monkeypatch.setattr(race, "CHOOSING_SECONDS", 1.0)
    monkeypatch.setattr(race, "MOST_SECONDS", 2.0)
    words = ["--seed", "7", "--output", str(tmp_path / "race.json")]
    assert race.main([*words, "--cells", "1"]) == 0
    (first,) = race.read(tmp_path / "race.json")
    assert first.ratio > 0
    assert first.to_plain > 0
    assert race.main([*words, "--cells", "2"]) == 0
    assert race.read(tmp_path / "race.json")[0] == first
    assert "seed 7: 1 cell," in capsys.readouterr().err

"""Each recipe can be read, asks for what exists, and the page shows the results that are stored."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from benchmarks import recipes
from benchmarks.recipes import Recipe, Result

from tautochrone.cli import commands
from tautochrone.errors import TautoError
from tautochrone.measuring.objective import parse_objective
from tautochrone.tune.options import TuneRequest, check_numbers, placeholders
from tautochrone.tune.tuning import TuneCommand

PACKAGES = (recipes.ROOT / "packages.txt").read_text()
WANTED = "gromacs lammps x264 ffmpeg xz zstd pigz numpy go java rust"


def request_of(words: list[str]) -> TuneRequest:
    """What a command line asks for; an unknown option or a bad value is an error."""
    asked: list[TuneRequest] = []
    command = commands.made("tune", TuneCommand, "", lambda request: len(asked.append(request) or asked))
    command.main(words, standalone_mode=False)
    return asked[0]


@pytest.mark.parametrize("name", recipes.recipes())
@pytest.mark.parametrize("cpus", [1, 2, 24])
def test_recipe_asks_for_what_exists(name: str, cpus: int) -> None:
    recipe = recipes.recipes(name)[name]
    words = recipe.words(cpus)
    assert words[:2] == ["tauto", "tune"]
    asked = request_of(words[2:])
    check_numbers(asked)
    parse_objective(asked.objective)
    assert asked.command == tuple(shlex.split(recipe.command))
    assert set(placeholders(asked.command)) == set(asked.values)
    for own in (*asked.values.values(), *asked.environment.values()):
        assert len(set(own)) == len(own)
    assert all(len(own) > 1 for own in asked.values.values()) or cpus == 1
    for package in recipe.packages:
        assert re.search(rf"^(program|recipe) +{re.escape(package)} ", PACKAGES, re.MULTILINE), package
    for source in re.findall(r"\$SOURCES/([\w.]+)", recipe.prepare):
        assert (recipes.FOLDER / "sources" / source).is_file()


def test_recipes_for_the_programs_that_people_ask_for() -> None:
    assert set(WANTED.split()) <= set(recipes.recipes())


def test_counts_begin_with_all_cpus() -> None:
    assert recipes.counts_up_to(4, 2) == ["4", "2", "1", "8"]
    assert recipes.counts_up_to(1, 1) == ["1"]
    assert recipes.counts_up_to(24, 1) == ["24", "12", "6", "3", "1"]


def test_what_is_no_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match=r"no recipe bzip3. Choose from ffmpeg, go"):
        recipes.recipes("xz,bzip3")
    path = tmp_path / "bad.toml"
    path.write_text((recipes.FOLDER / "xz.toml").read_text() + 'colour = "blue"\n')
    with pytest.raises(TautoError, match=r"bad\.toml: .*colour"):
        recipes.load(path)


@pytest.mark.timed
def test_programs_that_are_not_here_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert recipes.missing(recipes.recipes("lammps")["lammps"]) == ["mpirun", "lmp"]
    assert recipes.missing(recipes.recipes("go")["go"]) == ["go"]


# -- results --


def test_ten_programs_or_more_were_measured_and_the_page_shows_it() -> None:
    found = recipes.results()
    assert len(found) >= 10
    assert set(found) <= set(recipes.recipes())
    page = recipes.PAGE.read_text()
    assert recipes.written(page, found) == page, "write it anew: python -m benchmarks.recipes --page"


@pytest.mark.parametrize("name", recipes.results())
def test_result_is_of_the_recipe_as_it_stands(name: str) -> None:
    """A recipe that was changed is to be measured anew."""
    result, recipe = recipes.results()[name], recipes.recipes(name)[name]
    assert result.schema == recipes.SCHEMA
    assert shlex.split(result.command) == recipe.words(result.cpus)
    assert (result.title, result.about) == (recipe.title, recipe.about)
    assert result.answer.startswith(("Use ", "Leave it as it is"))
    assert result.answer.startswith("Use ") == bool(result.settings) == (result.ratio is not None)
    assert result.runs > 0
    assert result.version


RESULT = msgspec.convert(
    {
        **{name: name for name in ("title", "about", "version", "tautochrone", "command", "paste")},
        "measured": "2026-11-25",
        "machine": "M",
        "cpus": 4,
        "kernel": "6.1",
        "ended": "budget",
        "answer": "Use a|b: 20 % less time",
        "settings": {"threads": "2"},
        "now": "1 s",
        "with_it": "0.8 s",
        "better": "faster",
        "ratio": 0.8,
        "low": 0.7,
        "high": 0.9,
        "rounds": 9,
        "runs": 40,
        "notices": ["beside 3 of the final's 36 runs others took CPU time"],
    },
    Result,
)


def test_table_has_the_interval_and_the_machine_and_what_the_tool_said() -> None:
    other = msgspec.structs.replace(
        RESULT, settings={}, ratio=None, machine="N", answer="Leave it as it is", notices=()
    )
    text = recipes.table({"xz": RESULT, "go": other})
    assert "| 1 s | Use a\\|b: 20 % less time | 0.80 (0.70 to 0.90) | 9 | 3 of 36 |" in text
    assert "| 1 s | Leave it as it is |  | 9 | none |" in text
    assert text.index("### M, 4 CPUs, Linux 6.1, 2026-11-25") < text.index("### N, 4 CPUs")
    assert "(version): about. Beside 3 of the final's 36 runs others took CPU time." in text


@pytest.mark.timed
def test_a_recipe_is_prepared_tuned_and_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a search that is acted: it reads its words, and the input that was made."""
    recipe = Recipe(
        title="A program",
        about="does nothing",
        prepare='echo input > data; ls "$SOURCES" > sources',
        command="cat data {mode}",
        version="printf '\\ncat 1.2\\nmore\\n'",
        knobs={"mode": ("-u", "-n")},
    )
    said: dict[str, Any] = {
        "verdict_sentences": ["Use mode=-n: 20 % less time"],
        "settings": {"mode": "-n"},
        "settings_to_paste": [{"label": "Shell", "text": "cat data -n"}],
        "candidates": [
            {"name": "default", "role": "default", "written": "1 s", "ratio": None},
            {
                "name": "n",
                "role": "winner",
                "written": "0.8 s",
                "ratio": {"value": 0.8, "low": 0.7, "high": 0.9},
            },
        ],
        "winner": "n",
        "better": "faster",
        "rounds": 9,
        "runs": 40,
        "ended": "budget",
        "notices": [],
    }
    real = recipes._run
    asked: list[list[str]] = []

    def run(words: Any, folder: Path, environment: Any, what: str, shows: bool = False) -> str:
        if words[0] == "sh":
            return real(words, folder, environment, what, shows)
        asked.append([*words])
        assert (folder / "data").read_text() == "input\n"
        assert "trees.go" in (folder / "sources").read_text()
        return msgspec.json.encode(said).decode()

    class Stored:
        machines = ({"name": "M", "cpus": [{}, {}], "kernel": "6.1"},)

        def __enter__(self) -> Stored:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(recipes, "_run", run)
    monkeypatch.setattr(recipes.Store, "read", lambda folder: Stored())
    monkeypatch.setattr(recipes, "WORK", tmp_path / "work")
    monkeypatch.setattr(recipes, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert recipes.measure_all({"cat": recipe}) == 0
    result = msgspec.json.decode((tmp_path / "results" / "cat.json").read_bytes(), type=Result)
    assert (result.version, result.now, result.with_it) == ("cat 1.2", "1 s", "0.8 s")
    assert (result.ratio, result.low, result.high, result.paste) == (0.8, 0.7, 0.9, "cat data -n")
    assert result.command == "tauto tune --budget 60s --candidates 10 --value mode=-u,-n -- cat data '{mode}'"
    assert asked[0][-3:] == ["cat", "data", "{mode}"]
    assert "--fresh" in asked[0][: asked[0].index("--")]

    monkeypatch.setattr(recipes, "_run", real)
    broken = msgspec.structs.replace(recipe, prepare="echo no room >&2; exit 1")
    assert recipes.measure_all({"cat": broken}) == 1
    assert msgspec.json.decode((tmp_path / "results" / "cat.json").read_bytes(), type=Result) == result

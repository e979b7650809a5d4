"""The recipes in ``recipes/``: programs of other people, what can be set, and what `tauto tune` found.

``python -m benchmarks.recipes`` measures them one after the other (``--only xz,zstd`` some), stores the
results in ``recipes/results`` and writes the table in ``docs/recipes.md`` anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from tautochrone import __version__
from tautochrone.errors import TautoError
from tautochrone.results.store import Store

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "recipes"
RESULTS = FOLDER / "results"
PAGE = ROOT / "docs" / "recipes.md"
WORK = ROOT / "build" / "recipes"
SCHEMA = "tautochrone.recipe-result/1"
_BEGIN, _END = "<!-- made by make recipes: begin -->", "<!-- end -->"
# Open MPI starts nothing as root without these.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program with its input, and what `tauto tune` is to try.

    `prepare` makes the input, by sh, in an empty folder; ``$SOURCES`` has the programs of our own. `knobs`:
    the values of names in the command, the one used now first. `counts`: names whose values are numbers of
    threads or ranks, up to so many times the CPUs.
    """

    title: str
    about: str
    prepare: str
    command: str
    version: str
    packages: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Further programs that must be there, besides the command's own."""
    objective: str = "time"
    check: str = ""
    same_output: bool = False
    counts: Mapping[str, int] = {}
    knobs: Mapping[str, tuple[str, ...]] = {}
    environment: Mapping[str, tuple[str, ...]] = {}
    without: tuple[str, ...] = ()
    """Knobs that are not to be tried."""
    options: tuple[str, ...] = ()
    budget: str = "60s"
    candidates: int = 10
    """So few that each is run often within a minute, also on a busy machine."""

    def words(self, cpus: int) -> list[str]:
        """The command line, on a machine with so many CPUs."""
        values = {name: [*self.knobs.get(name, ())] for name in (*self.counts, *self.knobs)}
        for name, most in self.counts.items():
            values[name] += counts_up_to(cpus, most)
        words = ["tauto", "tune", "--budget", self.budget, "--candidates", str(self.candidates)]
        words += ["--objective", self.objective] if self.objective != "time" else []
        words += ["--check", self.check] if self.check else []
        words += ["--same-output"] if self.same_output else []
        for name, own in values.items():
            words += ["--value", f"{name}={','.join(dict.fromkeys(own))}"]
        for name, these in self.environment.items():
            words += ["--env", f"{name}={','.join(these)}"]
        for knob in self.without:
            words += ["--exclude", knob]
        return [*words, *self.options, "--", *shlex.split(self.command)]


def counts_up_to(cpus: int, most: int) -> list[str]:
    """All CPUs first, then fewer, then more: (4, 2) → 4, 2, 1, 8."""
    fewer = [cpus >> step for step in range(1, cpus.bit_length())]
    more = [cpus << step for step in range(1, most.bit_length())]
    return [str(number) for number in (cpus, *fewer, *more)]


def load(path: Path) -> Recipe:
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Recipe)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise TautoError(f"{path.name}: {error}", "Write it as the other recipes are written") from error


def recipes(only: str = "") -> dict[str, Recipe]:
    """Those that are named, or all, by name. TautoError for a name that is none."""
    paths = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
    names = [name.strip() for name in only.split(",") if name.strip()] or [*paths]
    for name in names:
        if name not in paths:
            raise TautoError(f"there is no recipe {name}", f"Choose from {', '.join(paths)}")
    return {name: load(paths[name]) for name in names}


# -- measuring --


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found. `ratio`: by now, with its interval; None where nothing is known of it."""

    schema: str = SCHEMA
    title: str
    about: str
    version: str
    measured: str  # the day
    tautochrone: str
    machine: str
    cpus: int
    kernel: str
    command: str
    answer: str
    settings: Mapping[str, str]
    paste: str
    now: str
    with_it: str
    better: str
    ratio: float | None
    low: float | None
    high: float | None
    rounds: int
    runs: int
    ended: str
    notices: tuple[str, ...]

    @property
    def beside_others(self) -> str:
        """Of how many of the final's runs the tool said that others took CPU time."""
        found = re.search(r"beside (\d+) of the final's (\d+) runs", " ".join(self.notices))
        return f"{found[1]} of {found[2]}" if found else "none"


def missing(recipe: Recipe) -> list[str]:
    """The programs that are not here; what the preparation compiles is looked for there."""
    own = shlex.split(recipe.command)[0]
    words = (*((own,) if "/" not in own else ()), *recipe.needs, shlex.split(recipe.version)[0])
    return [word for word in dict.fromkeys(words) if shutil.which(word) is None]


def measure(name: str, recipe: Recipe) -> Result:
    """Make the input and search. TautoError where either fails."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, **AS_ROOT, "PATH": path, "SOURCES": str(FOLDER / "sources")}
    _run(["sh", "-euc", recipe.prepare], folder, environment, "its input could not be made")
    version = _run(["sh", "-euc", recipe.version], folder, environment, "its version is not told")
    line = recipe.words(len(os.sched_getaffinity(0)))
    here = line.index("--")
    asked = [*line[:here], "--json", "--fresh", "--output", "tuned", *line[here:]]
    command = [sys.executable, "-P", "-m", "tautochrone", *asked[1:]]
    said = _run(command, folder, environment, "the search failed", shows=True)
    return result_of(recipe, version, shlex.join(line), json.loads(said), folder / "tuned")


def _run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], what: str, shows: bool = False
) -> str:
    """What a command prints; its messages are for the user, or for the error."""
    errors = None if shows else subprocess.PIPE
    done = subprocess.run(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, check=False
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout or "").strip().splitlines()
        why = lines[-1] if lines else f"exit code {done.returncode}"
        raise TautoError(f"{what}: {why}", f"Look at {folder}")
    return done.stdout


def result_of(recipe: Recipe, version: str, line: str, said: Mapping[str, Any], tuned: Path) -> Result:
    """Of what `tauto tune --json` printed, what a reader wants to know."""
    with Store.read(tuned) as store:
        machine = store.machines[0]
    candidates = said["candidates"]
    default = next(one for one in candidates if one["role"] == "default" or one["name"] == "default")
    best = next(one for one in candidates if one["name"] == said["winner"])
    ratio = best["ratio"] if best is not default and best["ratio"] is not None else {}
    shell = [one["text"] for one in said["settings_to_paste"] if one["label"] == "Shell"]
    versions = [words for words in (one.strip() for one in version.splitlines()) if words]
    return Result(
        title=recipe.title,
        about=recipe.about,
        version=versions[0] if versions else "",
        measured=datetime.now(UTC).date().isoformat(),
        tautochrone=__version__,
        machine=machine["name"],
        cpus=len(machine["cpus"]),
        kernel=machine["kernel"],
        command=line,
        answer=said["verdict_sentences"][0],
        settings=said["settings"],
        paste=shell[0] if shell and said["settings"] else "",
        now=default["written"],
        with_it=best["written"],
        better=said["better"],
        ratio=ratio.get("value"),
        low=ratio.get("low"),
        high=ratio.get("high"),
        rounds=said["rounds"],
        runs=said["runs"],
        ended=said["ended"],
        notices=tuple(said["notices"]),
    )


# -- the page --


def results() -> dict[str, Result]:
    return {
        path.stem: msgspec.json.decode(path.read_bytes(), type=Result)
        for path in sorted(RESULTS.glob("*.json"))
    }


def table(found: Mapping[str, Result]) -> str:
    """The results for people, a table for each machine and day."""

    def where(one: tuple[str, Result]) -> tuple[str, str, int, str]:
        result = one[1]
        return result.measured, result.machine, result.cpus, result.kernel

    parts: list[str] = []
    for (day, machine, cpus, kernel), group in groupby(sorted(found.items(), key=where), where):
        parts += [f"### {machine}, {cpus} CPUs, Linux {kernel}, {day}", ""]
        parts += [
            "| recipe | now | answer | figure by now, with its interval | rounds | runs beside others |"
        ]
        parts += ["|---|--:|---|---|--:|--:|"]
        mine = [*group]
        parts += [_row(name, result) for name, result in mine]
        parts += ["", "What was measured, and what the tool said of its own result:", ""]
        parts += [line for name, result in mine for line in _details(name, result)]
        parts += [""]
    return "\n".join(parts).rstrip()


def _row(name: str, result: Result) -> str:
    if result.ratio is None or not result.settings:
        ratio = ""
    elif result.low is None or result.high is None:
        ratio = f"{result.ratio:.2f}"
    else:
        ratio = f"{result.ratio:.2f} ({result.low:.2f} to {result.high:.2f})"
    answer = result.answer.replace("|", "\\|")
    link = f"[{result.title}](../recipes/{name}.toml)"
    return f"| {link} | {result.now} | {answer} | {ratio} | {result.rounds} | {result.beside_others} |"


def _details(name: str, result: Result) -> list[str]:
    notices = "".join(f" {notice[0].upper()}{notice[1:]}." for notice in result.notices)
    return [f"- **{result.title}** ({result.version}): {result.about}.{notices}"]


def written(page: str, found: Mapping[str, Result]) -> str:
    """The page with the table of these results."""
    begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    return f"{page[:begin]}\n\n{table(found)}\n\n{page[end:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="some recipes: xz,zstd")
    parser.add_argument("--packages", action="store_true", help="print the packages that they need")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    asked = parser.parse_args()
    try:
        wanted = recipes(asked.only)
    except TautoError as error:
        print(f"tauto: error: {error}", file=sys.stderr)
        return 2
    if asked.packages:
        print(" ".join(sorted({package for recipe in wanted.values() for package in recipe.packages})))
        return 0
    failed = 0 if asked.page else measure_all(wanted)
    PAGE.write_text(written(PAGE.read_text(), results()))
    print(f"The table: {PAGE.relative_to(ROOT)}")
    return 1 if failed else 0


def measure_all(wanted: Mapping[str, Recipe]) -> int:
    """How many of them failed; their earlier results stay."""
    failed = 0
    RESULTS.mkdir(exist_ok=True)
    for name, recipe in wanted.items():
        if lacking := missing(recipe):
            print(f"{recipe.title}: left out, {', '.join(lacking)} is not here", flush=True)
            continue
        print(f"{recipe.title}: {recipe.about}", flush=True)
        try:
            result = measure(name, recipe)
        except TautoError as error:
            failed += 1
            print(f"  {error}", file=sys.stderr, flush=True)
            continue
        text = json.dumps(msgspec.to_builtins(result), ensure_ascii=False, indent=1)
        (RESULTS / f"{name}.json").write_text(text + "\n")
        print(f"  {result.answer}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

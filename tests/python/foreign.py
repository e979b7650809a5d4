"""Changed results of other tools, and changed answers of our executables, for `fuzzing`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from corpus import changed
from study_fakes import machine
from tautochrone.comparing import executor as comparing
from tautochrone.comparing.imports import compare_files, is_result
from tautochrone.comparing.settings import Settings
from tautochrone.machine import probe, runners
from tautochrone.measuring import subprocess_executor
from tautochrone.measuring.answers import read_answer
from tautochrone.measuring.configuration import Configuration
from test_compare_imports import google, hyperfine, noisy, pyperf

SIDES = {"old": noisy(0.01), "new": noisy(0.009, seed=2)}
MOST_FILES = 9
ONE = Configuration("one", ["true"])

# -- results of other tools --


@cache
def _results() -> tuple[tuple[str, Any], ...]:
    """The place of each file below a folder, and what is in it."""
    shuffled = google(SIDES, context={"random_interleaving": "true"}, order=("new", "old"))
    turns = pyperf({name: [(2 * at, value) for at, value in enumerate(own)] for name, own in SIDES.items()})
    names = [f"criterion/{name}/round-{number}/sample.json" for number in range(4) for name in SIDES]
    sample = {"iters": [10.0 * (n + 1) for n in range(5)], "times": [1e8 * (n + 1) for n in range(5)]}
    short = {name: own[:1] for name, own in SIDES.items()}
    return (
        ("google.json", shuffled),
        ("google.json", google(SIDES)),
        ("pyperf.json", turns),
        *((f"round-{number}.json", hyperfine(short)) for number in range(3)),
        *((name, sample) for name in names),
    )


def files(chance: random.Random) -> bytes:
    """Places and texts in turn; most of them of one tool."""
    place, record = chance.choice(_results())
    texts = []
    for number in range(chance.choice((1, 2, MOST_FILES))):
        one = changed(record, chance, chance.choice((0, 1, 1, 3)))
        if chance.random() < 0.1:
            place, one = chance.choice(_results())
        where = place.replace("round-0", f"round-{number}") if number else place
        texts += [f"{number}-{where}" if "/" not in where else where, json.dumps(one)]
    return "\0".join(texts).encode(errors="surrogateescape")


def imports(data: bytes, folder: Path) -> object:
    words = data.split(b"\0")
    paths = []
    for number, text in enumerate(words[1::2]):
        name = words[2 * number].decode(errors="replace")
        harmless = name.isprintable() and len(name) < 80 and ".." not in name
        path = folder / "results" / (name if harmless else "x.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        paths.append(str(path))
    if not paths:
        return None
    for path in paths[:2]:
        is_result(path)
        is_result(f"{path}@new")
    return compare_files(paths)


# -- what our executables answer --


def _timed(line: bytes) -> object:
    answer = read_answer(line, comparing.Answer, comparing.PROGRAM)
    found = comparing.CommandExecutor(Settings())._result(ONE, answer, 1.0, None)
    return comparing.failure(ONE, answer, 1.0, Settings()), found


def _started(line: bytes) -> object:
    answer = read_answer(line, subprocess_executor.Answer, "srun")
    subprocess_executor._ended_badly(answer, 1.0, {})
    return subprocess_executor.ProcessExecutor()._accounted(ONE, answer)


def _probed(line: bytes) -> object:
    return probe.parse(line).to_dict()


def _described(line: bytes) -> object:
    return read_answer(line, runners.Description, "a runner")


@cache
def _answers() -> Mapping[str, tuple[Callable[[bytes], object], Any]]:
    """Who reads it, and what is right."""
    timed = comparing.Answer(
        runs=2, elapsed=(0.1, 0.1), exit_codes=(0, 0), counters={"cycles": 5.0}, stdout="x"
    )
    seen = subprocess_executor.Observed(5, (), frozenset({"/lib/x.so"}), 2)
    started = subprocess_executor.Answer(
        number=1, exit_code=1, stderr="a\nb", left_running=("x",), observed=seen
    )
    described = {"runtime": "openmp", "library": "libgomp", "version": "1", "schedules": ["static"]}
    return {
        "timed": (_timed, msgspec.to_builtins(timed)),
        "started": (_started, json.loads(msgspec.json.encode(started))),
        "probed": (_probed, machine()),
        "described": (_described, described | {"schedules_with_chunk": [], "wait_policies": ["default"]}),
    }


def answer_lines(chance: random.Random) -> bytes:
    kind = chance.choice([*_answers()])
    record = changed(_answers()[kind][1], chance, chance.choice((1, 1, 3)))
    return f"{kind}\n{json.dumps(record)}".encode(errors="surrogateescape")


def answers(data: bytes, folder: Path) -> object:
    kind, _, line = data.partition(b"\n")
    reader, _ = _answers().get(kind.decode(errors="replace"), _answers()["timed"])
    return reader(line)

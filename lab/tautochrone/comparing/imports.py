"""Results of Google Benchmark, Criterion, pyperf and hyperfine, where both sides were measured together.

Most files hold all runs of one side, and then all of the other: two sittings, and no test of them can tell
drift from a difference. Three ways of measuring are compared:

- Eight or more files, of which each has both sides: each file is a round.
- Google Benchmark with random interleaving. It shuffles all repetitions of all benchmarks at once
  (`RunBenchmarks` in its src/benchmark.cc), so the k-th of one is not beside the k-th of the other: pairs of
  them would share a drift that the order made, and a sign test would err. But each order was as likely as any
  other, which is what the test of Mann and Whitney needs, drift or not.
- pyperf with the runs of both sides in turns, as the dates of its runs show: two runs in turn are a round.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tautochrone import text, verdicts
from tautochrone.comparing.looks import CONFIDENCE, rounds_needed
from tautochrone.comparing.points import of_points
from tautochrone.comparing.result import Compared
from tautochrone.errors import TautoError, explained
from tautochrone.files import read_whole
from tautochrone.verdicts import MINIMUM_ROUNDS, Comparison

INTERLEAVED = "random_interleaving"
"""What ``--benchmark_context`` calls it: Google Benchmark does not write whether it did."""

_MOST_BYTES = 1 << 28
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SHOWN_NAMES = 6
_IN_TURNS = (
    "for i in $(seq 20); do hyperfine -r 1 --export-json round-$i.json ./old ./new; done; "
    "tauto compare round-*.json"
)


@dataclass(frozen=True)
class Series:
    """The seconds of one benchmark in one file. `round`: of which round, where a file is one."""

    tool: str
    name: str
    round: str
    seconds: tuple[float, ...]
    dates: tuple[str, ...] = ()  # of each value; none where the tool does not tell
    shuffled: bool = False


@dataclass(frozen=True)
class Selected:
    """A file, and the benchmarks of it that are asked for; empty: all."""

    path: Path
    series: Sequence[Series] = field(default_factory=tuple)

    @classmethod
    def parse(cls, word: str) -> Selected:
        """Read FILE or FILE@BENCHMARK. TautoError for no result of a tool, or one without that benchmark."""
        path, wanted = Path(word), ""
        if not path.exists() and "@" in word:
            where, _, wanted = word.rpartition("@")
            path = Path(where)
        series = read(path)
        if wanted:
            names = [one.name for one in series]
            series = [one for one in series if one.name == wanted]
            if not series:
                raise TautoError(f"{path} has no benchmark {wanted!r}", f"It has {_some(names)}")
        return cls(path, series)


def is_result(word: str) -> bool:
    """Whether a word names a file of one of these tools, or a part of one."""
    path = Path(word)
    if not path.exists() and "@" in word:
        path = Path(word.rpartition("@")[0])
    try:
        return path.suffix == ".json" and path.is_file() and _tool(_json(path)) is not None
    except TautoError:
        return False


def compare_files(words: Sequence[str]) -> Compared:
    """Compare the benchmarks in these files; the first one is the reference.

    TautoError with the reason and the way to measure instead where they were not measured together.
    """
    series = list(dict.fromkeys(one for word in words for one in Selected.parse(word).series))
    names = list(dict.fromkeys(one.name for one in series))
    if len(names) < 2:
        _refuse_one(series, names)
    if len(names) > 20:
        raise TautoError(
            f"there are {len(names)} benchmarks in these files: {_some(names)}",
            "Choose two: FILE.json@BENCHMARK FILE.json@OTHER",
        )
    rounds = _rounds(series, names)
    needed = rounds_needed(len(names) - 1, 1, True)
    if len(rounds) >= needed:
        points = [[one[name] for one in rounds] for name in names]
        first = f"in each file {names[0]} may have run before {text.joined(names[1:])}, and warmed up for it"
        return of_points(names, points, remarks=(first,), judge=_in_rounds)
    if all(one.shuffled for one in series) and len({one.round for one in series}) == 1:
        values = [next(one.seconds for one in series if one.name == name) for name in names]
        _enough(names, values, MINIMUM_ROUNDS)
        how = "Google Benchmark shuffled all repetitions, so they are compared as they are, not in pairs"
        return of_points(names, values, remarks=(how,), judge=_shuffled)
    if all(one.dates for one in series) and (in_turns := _by_dates(series, names)) is not None:
        _enough(names, in_turns, needed)
        how = "pairs are the runs that pyperf made one after the other"
        return of_points(names, in_turns, remarks=(how,), judge=_in_rounds)
    raise _not_together(series, names, needed)


def read(path: Path) -> list[Series]:
    """The benchmarks of a file. TautoError for one that cannot be read, or that is of no tool known here."""
    record = _json(path)
    tool = _tool(record)
    try:
        found = list(_READERS[tool](record, path)) if tool is not None else []
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise TautoError(
            f"{path} looks like a result of {tool}, but cannot be understood: {error!r}", "Export it again"
        ) from error
    if tool is None:
        raise TautoError(
            f"{path} is no result of Google Benchmark, Criterion (sample.json), pyperf or hyperfine",
            "Export it as JSON: --benchmark_out=FILE, -o FILE (pyperf), --export-json FILE (hyperfine)",
        )
    for one in found:
        if not one.seconds or not all(0.0 < value < float("inf") for value in one.seconds):
            raise TautoError(f"{path} has no times of {one.name} that can be compared", "Measure it again")
    if not found:
        raise TautoError(
            f"{path} has no single runs",
            "Export all of them: with --benchmark_repetitions=20, without --benchmark_report_aggregates_only",
        )
    return found


def _json(path: Path) -> Any:
    try:
        with explained(f"{path} cannot be read", "Correct the path"):
            return json.loads(read_whole(path, _MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise TautoError(f"{path} is no JSON: {error}", "Export it again") from error


def _tool(record: Any) -> str | None:
    if not isinstance(record, Mapping):
        return None
    if isinstance(record.get("context"), Mapping) and isinstance(record.get("benchmarks"), list):
        return "Google Benchmark"
    if isinstance(record.get("benchmarks"), list) and "version" in record:
        return "pyperf"
    if isinstance(record.get("iters"), list) and isinstance(record.get("times"), list):
        return "Criterion"
    results = record.get("results")
    if isinstance(results, list) and results and isinstance(results[0], Mapping) and "command" in results[0]:
        return "hyperfine"
    return None


def _google(record: Any, path: Path) -> Iterator[Series]:
    runs: dict[str, list[tuple[int, float]]] = {}
    order: dict[str, int] = {}
    for run in record["benchmarks"]:
        if run.get("run_type", "iteration") != "iteration" or run.get("error_occurred") or run.get("skipped"):
            continue
        name = str(run.get("run_name", run["name"]))
        seconds = float(run["real_time"]) * _SECONDS[run.get("time_unit", "ns")]
        runs.setdefault(name, []).append((int(run.get("repetition_index", 0)), seconds))
        order[name] = int(run.get("family_index", 0)) * 100_000 + int(run.get("per_family_instance_index", 0))
    # A benchmark is written when its last repetition is done: without shuffling, in the order of the program.
    said = str(record["context"].get(INTERLEAVED, "")).lower() in ("1", "true", "yes", "on")
    shuffled = said or list(order.values()) != sorted(order.values())
    for name, found in runs.items():
        yield Series(
            "Google Benchmark", name, str(path), tuple(value for _, value in sorted(found)), (), shuffled
        )


def _pyperf(record: Any, path: Path) -> Iterator[Series]:
    for benchmark in record["benchmarks"]:
        common = {**record.get("metadata", {}), **benchmark.get("metadata", {})}
        values, dates = [], []
        for run in benchmark["runs"]:
            if run.get("values"):
                values.append(statistics.median(map(float, run["values"])))
                dates.append(str(run.get("metadata", {}).get("date", "")))
        told = tuple(dates) if all(dates) else ()
        yield Series("pyperf", str(common.get("name", path.stem)), str(path), tuple(values), told)


def _criterion(record: Any, path: Path) -> Iterator[Series]:
    """target/criterion/[GROUP/]BENCHMARK/BASELINE/sample.json: each baseline is a round."""
    parts = path.resolve().parts
    below = parts.index("criterion") + 1 if "criterion" in parts else max(0, len(parts) - 3)
    name, baseline = "/".join(parts[below:-2]) or path.stem, parts[-2]
    seconds = [
        float(nanoseconds) / float(calls) * 1e-9
        for nanoseconds, calls in zip(record["times"], record["iters"], strict=True)
    ]
    yield Series("Criterion", name, f"{parts[:below]}{baseline}", tuple(seconds))


def _hyperfine(record: Any, path: Path) -> Iterator[Series]:
    for result in record["results"]:
        values = tuple(float(value) for value in result.get("times") or ())
        yield Series("hyperfine", str(result["command"]), str(path), values)


_READERS = {
    "Google Benchmark": _google,
    "pyperf": _pyperf,
    "Criterion": _criterion,
    "hyperfine": _hyperfine,
}


def _rounds(series: Sequence[Series], names: Sequence[str]) -> list[dict[str, float]]:
    """The median of each benchmark in each round that has all of them."""
    found: dict[str, dict[str, float]] = {}
    for one in series:
        found.setdefault(one.round, {})[one.name] = statistics.median(one.seconds)
    return [one for one in found.values() if len(one) == len(names)]


def _by_dates(series: Sequence[Series], names: Sequence[str]) -> list[list[float]] | None:
    """The values by rounds, where the dates show that the benchmarks ran in turns."""
    runs = sorted(
        (date, one.name, value) for one in series for date, value in zip(one.dates, one.seconds, strict=True)
    )
    size = len(names)
    rounds = [runs[at : at + size] for at in range(0, len(runs), size)]
    if any(len({name for _, name, _ in one}) != size for one in rounds):
        return None
    return [[next(value for _, own, value in one if own == name) for one in rounds] for name in names]


def _in_rounds(rival: Sequence[float], reference: Sequence[float], number: int) -> Comparison:
    """By the sign test: nobody drew which of the two runs first in a round."""
    pairs = zip(rival, reference, strict=True)
    return verdicts.compare(pairs, confidence=CONFIDENCE, comparisons=number)


def _shuffled(rival: Sequence[float], reference: Sequence[float], number: int) -> Comparison:
    """By the test of Mann and Whitney, which holds under any drift where all orders were as likely."""
    error = (1.0 - CONFIDENCE) / number
    return verdicts.compare_unpaired(rival, reference, confidence=1.0 - error)


def _enough(names: Sequence[str], values: Sequence[Sequence[float]], needed: int) -> None:
    for name, own in zip(names, values, strict=True):
        if len(own) < needed:
            raise TautoError(
                f"{name} has {text.count(len(own), 'repetition')}, and a verdict needs {needed}",
                "Ask for more: --benchmark_repetitions=20, or pyperf --processes 20",
            )


def _refuse_one(series: Sequence[Series], names: Sequence[str]) -> None:
    if len({one.round for one in series}) > 1:
        raise TautoError(
            f"these files have one benchmark, {names[0]}, in {len({one.round for one in series})} sittings: "
            "drift between them cannot be told from a difference",
            "Measure both programs together: tauto compare -- ./old : ./new, or tauto compare --revisions "
            "main HEAD --build make -- ./prog",
        )
    raise TautoError(
        f"there is one benchmark, {names[0]}, and nothing to compare it with", "Name another too"
    )


def _not_together(series: Sequence[Series], names: Sequence[str], needed: int) -> TautoError:
    tools = list(dict.fromkeys(one.tool for one in series))
    rounds = len({one.round for one in series})
    what = text.joined([str(name) for name in names[:_SHOWN_NAMES]])
    if rounds > 1:
        why = f"{what} are in {rounds} files, of which fewer than {needed} have all of them"
    elif tools == ["Google Benchmark"]:
        why = f"nothing in the file says that the repetitions of {what} were interleaved"
    else:
        why = f"{tools[0]} ran all of {names[0]} before {names[1]}"
    return TautoError(f"{why}: drift cannot be told from a difference", _REMEDIES.get(tools[0], _IN_TURNS))


_REMEDIES = {
    "Google Benchmark": (
        "Run it with --benchmark_enable_random_interleaving=true --benchmark_repetitions=20 "
        f"--benchmark_context={INTERLEAVED}=true --benchmark_out=FILE.json"
    ),
    "pyperf": (
        "Run them in turns into one file: for i in $(seq 20); do python -m pyperf command -p 1 --append "
        "both.json --name old -- ./old; the same for new; done"
    ),
    "Criterion": (
        "Run them in turns: for i in $(seq 20); do cargo bench -- --save-baseline r$i; done; "
        "tauto compare target/criterion/*/r*/sample.json"
    ),
    "hyperfine": f"Measure them by tauto compare -- ./old : ./new, or in turns: {_IN_TURNS}",
}


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES} others" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more

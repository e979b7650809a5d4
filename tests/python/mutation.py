"""Put bugs into the statistics one at a time, and see whether their tests notice.

Coverage says that a line ran, not that anyone would miss it. Each mutant here is a bug that somebody might
write: a bound taken one place too far in, a ratio upside down, a confidence that is not shared. A mutant
that the tests let live is a hole in the tests. Nothing in the tree is changed: a mutant exists in the
memory of a forked process alone.

    python tests/python/mutation.py            all mutants, a line for each
"""

from __future__ import annotations

import inspect
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import tautochrone

LIMIT_SECONDS = 30
PACKAGE = Path(inspect.getfile(tautochrone)).parent
TESTS = ("test_pairing", "test_statistics")
LONG = {"TRIALS", "Machine", "chances_of_sums"}  # a test that takes long names one of these


@dataclass(frozen=True)
class Mutant:
    """In `module`, `before` (which stands there exactly once) becomes `after`."""

    module: str
    before: str
    after: str

    def source(self) -> str:
        text = (PACKAGE / f"{self.module.replace('.', '/')}.py").read_text()
        if (times := text.count(self.before)) != 1:
            raise ValueError(f"{self.before!r} stands {times} times in {self.module}.py, not once")
        return text.replace(self.before, self.after)


STATISTICS: tuple[tuple[str, ...], ...] = (
    # What a verdict needs.
    ("VERDICT_CONFIDENCE = 0.99", "VERDICT_CONFIDENCE = 0.95", "VERDICT_CONFIDENCE = 0.999"),
    ("MINIMUM_ROUNDS = 8", "MINIMUM_ROUNDS = 7", "MINIMUM_ROUNDS = 9"),
    ("PLOT_CONFIDENCE = 0.95", "PLOT_CONFIDENCE = 0.99", "PLOT_CONFIDENCE = 0.9"),
    ("verdict = FASTER if high < 0.0", "verdict = FASTER if high <= 0.0", "verdict = FASTER if low < 0.0"),
    (
        "else SLOWER if low > 0.0",
        "else SLOWER if low >= 0.0",
        "else SLOWER if high > 0.0",
        "else FASTER if low > 0.0",
    ),
    (
        "low, high = ordered[rank - 1], ordered[-rank]\n    verdict",
        "low, high = ordered[rank], ordered[-rank]\n    verdict",
    ),
    ("ordered[-rank]\n    verdict", "ordered[-rank - 1]\n    verdict", "ordered[rank]\n    verdict"),
    # The centre.
    (
        "ratio = math.exp(statistics.median(ordered)) if",
        "ratio = statistics.median(ordered) if",
        "ratio = math.exp(math.fsum(ordered) / len(ordered)) if",
    ),
    ("low=math.exp(low)", "low=math.exp(high)"),
    ("math.log(candidate / reference)", "math.log(reference / candidate)", "candidate / reference - 1.0"),
    (
        "math.isfinite(seconds) and seconds > 0.0",
        "math.isfinite(seconds) and seconds >= 0.0",
        "seconds > 0.0",
    ),
    (
        "for seconds in (candidate, reference):",
        "for seconds in (candidate,):",
        "for seconds in (reference,):",
    ),
    ("ordered = sorted(values)\n    strict", "ordered = list(values)\n    strict"),
    # The sign test's ranks.
    ("2.0**count / 2.0 *", "2.0**count *", "2.0**count / 4.0 *"),
    ("_ROUNDING = 1.0 + 1e-12", "_ROUNDING = 1.0 - 1e-12", "_ROUNDING = 1.0 + 1e-1"),
    (
        "outside += math.comb(count, rank)",
        "outside += math.comb(count, rank + 1)",
        "outside = math.comb(count, rank)",
    ),
    ("2 * (rank + 1) <= count + 1", "2 * (rank + 1) <= count", "2 * (rank + 1) < count"),
    ("if count > 999", "if count > 998", "if count > 1000"),
    ("for below in range(rank))", "for below in range(rank + 1))"),
    ("1.0 - 2.0 * outside / 2.0**count", "1.0 - outside / 2.0**count"),
    # The signed ranks.
    ("combinations_with_replacement(logs, 2)", "combinations_with_replacement(logs[:-1], 2)"),
    ("(one + other) / 2.0", "one", "(one + other)"),
    ("confidence, comparisons, _SIGNED_RANKS)", "confidence, comparisons, _SIGNS)"),
    ("(1.0 - confidence) / 2.0 * _ROUNDING", "(1.0 - confidence) * _ROUNDING"),
    ("<= allowed else (low, middle)", "<= 2 * allowed else (low, middle)"),
    ("_signed_rank_sums(count)[rank - 1]", "_signed_rank_sums(count)[rank]"),
    ("1.0 - 2.0 * _signed_rank_outside", "1.0 - _signed_rank_outside"),
    ("/ 4 - rank + 0.5", "/ 4 - rank - 20", "/ 4 - rank + 60"),
    ("ways[total] += ways[total - step]", "ways[total] += ways[total - 1]"),
    # What is asked for before a verdict.
    ("strict) if rounds >= MINIMUM_ROUNDS", "strict) if rounds > MINIMUM_ROUNDS"),
    (
        "(1.0 - confidence) / comparisons\n    rank",
        "(1.0 - confidence) * comparisons\n    rank",
        "(1.0 - confidence)\n    rank",
    ),
    ("if comparisons < 1:", "if comparisons < 0:"),
    ("1.0 - (1.0 - confidence) / comparisons) == 0", "confidence) == 0"),
    ("needed = MINIMUM_ROUNDS", "needed = 1"),
    ("if ordered else None", "if len(ordered) > 1 else None"),
    ("if rank == 0:\n        return Comparison", "if rank < 2:\n        return Comparison"),
    # Resolution and geometric mean.
    (
        "max(self.high / self.ratio, self.ratio / self.low)",
        "min(self.high / self.ratio, self.ratio / self.low)",
    ),
    ("self.ratio / self.low) - 1.0", "self.ratio / self.low)"),
    ("min((len(cell) for cell in cells)", "max((len(cell) for cell in cells)"),
    ("math.fsum(column) / len(cells)", "math.fsum(column)", "max(column)"),
    ("cell[:rounds]", "cell[-1:] * rounds"),
    # Unpaired.
    ("rounds = min(len(candidate), len(reference))", "rounds = max(len(candidate), len(reference))"),
    ("    if rounds >= MINIMUM_ROUNDS:\n", "    if rounds > MINIMUM_ROUNDS:\n"),
    ("logs = sorted(_log_ratio(a, b)", "logs = sorted(_log_ratio(b, a)"),
    ("(1.0 - confidence) / 2.0 * total", "(1.0 - confidence) * total"),
    ("outside + ways[rank]", "outside + ways[rank + 1]"),
    ("1.0 - 2.0 * outside / total", "1.0 - outside / total"),
    ("ways[u] -= ways[u - second - step]", "ways[u] -= ways[u - second]"),
    ("for u in range(step, first * second + 1)", "for u in range(step + 1, first * second + 1)"),
    ("coverage, confidence, rounds, paired=False)", "coverage, confidence, rounds, paired=True)"),
    # Intervals to draw.
    ("ordered = sorted(values)\n    strict", "ordered = list(values)\n    strict"),
    ("(ordered[rank - 1], ordered[-rank]) if rank", "(ordered[rank], ordered[-rank]) if rank"),
)
PAIRING: tuple[tuple[str, ...], ...] = (
    (
        "if row.error is None and row.config_id in seconds",
        "if row.config_id in seconds",
        "if row.error is None",
    ),
    ("[row.round] = figure(row)", "[row.position] = figure(row)", ".setdefault(row.round, row.seconds)"),
    (
        "seconds[candidate].keys() & seconds[reference].keys()",
        "seconds[candidate].keys() | seconds[reference].keys()",
        "seconds[candidate].keys()",
    ),
    (
        "(seconds[candidate][number], seconds[reference][number])",
        "(seconds[reference][number], seconds[candidate][number])",
        "(seconds[candidate][shared[0]], seconds[reference][number])",
    ),
    ("seconds[reference].keys())", "seconds[reference].keys(), reverse=True)"),
)
ANSWERS: tuple[tuple[str, ...], ...] = (
    ("is not None and not exempt(row)]", "is not None]", "is not None and exempt(row)]"),
    ("for row in judged if is_reference(row)}", "for row in judged}"),
    ("if len(expected) > 1:", "if len(expected) > 2:"),
    ("if answer(row) != right", "if answer(row) == right"),
    ("for row in judged} if len(answers) > 1 else {}", "for row in judged}"),
)

BUGS = {"verdicts": STATISTICS, "results.row": PAIRING, "measuring.measure": ANSWERS}
MUTANTS = tuple(
    Mutant(module, before, after)
    for module, bugs in BUGS.items()
    for before, *afters in bugs
    for after in afters
)


def tests_of(module: ModuleType) -> Iterator[Callable[[], Any]]:
    """Every test of a module that needs no fixture, once for each of its parameters; the quick ones first."""
    tests = [one for name, one in vars(module).items() if name.startswith("test_")]
    tests.sort(key=lambda test: not LONG.isdisjoint(test.__code__.co_names))
    for test in tests:
        marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
        choices = [[_arguments(mark.args[0], values) for values in mark.args[1]] for mark in marks]
        for chosen in itertools.product(*choices):
            arguments = {name: value for one in chosen for name, value in one.items()}
            if set(inspect.signature(test).parameters) == arguments.keys():
                yield lambda test=test, arguments=arguments: test(**arguments)


def _arguments(names: str | tuple[str, ...], values: Any) -> dict[str, Any]:
    words = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)
    return dict(zip(words, values if len(words) > 1 else (values,), strict=True))


def survives(mutant: Mutant | None) -> bool:
    """Whether all tests pass with this bug in place; None: with none, as they must."""
    source = mutant.source() if mutant else None
    pid = os.fork()
    if pid == 0:
        os._exit(_child(mutant, source))
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


def _child(mutant: Mutant | None, source: str | None) -> int:
    """0 if all tests pass. A mutant that loops for ever is noticed too: by the alarm, which kills."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_SECONDS)
    try:
        for name in [name for name in sys.modules if name.startswith("tautochrone.") or name in TESTS]:
            del sys.modules[name]
        if mutant is not None and source is not None:
            _import_mutated(mutant, source)
        for name in TESTS:
            for test in tests_of(import_module(name)):
                test()
    except BaseException:
        return 1
    return 0


def _import_mutated(mutant: Mutant, source: str) -> None:
    name = f"tautochrone.{mutant.module}"
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"{mutant.module}.py", "exec"), module.__dict__)


def main() -> int:
    """Try all mutants; 1 if one lives, or if the tests fail without any."""
    if not survives(None):
        print("the tests fail without any bug put in")
        return 1
    alive = 0
    for mutant in MUTANTS:
        lives = survives(mutant)
        alive += lives
        fate = "LIVES " if lives else "killed"
        print(f"{fate} {mutant.module}: {mutant.before!r} -> {mutant.after!r}", flush=True)
    print(f"{len(MUTANTS) - alive} of {len(MUTANTS)} mutants killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

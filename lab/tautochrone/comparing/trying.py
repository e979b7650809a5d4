"""Each command is tried before the first round: does it run, how long, and does it do the same each time?"""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone import text
from tautochrone.comparing.executor import Answer
from tautochrone.comparing.settings import Settings
from tautochrone.errors import TautoError
from tautochrone.measuring.clock import Clock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.identity import named_files, status_of
from tautochrone.results.row import Failure

if TYPE_CHECKING:
    from tautochrone.comparing.calibration import Calibrated
    from tautochrone.comparing.measure import Tries

FIRST_LIMIT_SECONDS = 600.0
_TRIALS, _MOST_TRIALS = 2, 6
_FAST_SECONDS = 0.02  # below it there are more trials: other programs hold up some of them
_LONG_SECONDS = 5.0  # of a run that is not tried a second time
_LEAST_CPU_SECONDS, _LEAST_CPU_SHARE = 5e-3, 0.1


@dataclass(frozen=True)
class Tried:
    """What the trials told; all by config_id. `seconds`: the fastest, `beside`: the last, with all around."""

    seconds: dict[str, float] = field(default_factory=dict)
    beside: dict[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    calibrated: Mapping[str, Calibrated] = field(default_factory=dict)


def try_out(
    configurations: Sequence[Configuration], executor: Tries, settings: Settings, clock: Clock
) -> Tried:
    """Run each command twice (once, if that takes long), and `warmup` times more.

    TautoError for a command that fails at its first run: nothing was measured then.
    """
    limit = settings.time_limit_seconds or FIRST_LIMIT_SECONDS
    files = {one.config_id: _files(one, settings) for one in configurations}
    answers: dict[str, list[Answer]] = {one.config_id: [] for one in configurations}
    tried = Tried()
    changed: dict[str, None] = {}
    failed: Counter[str] = Counter()
    for number in range(max(_MOST_TRIALS, _TRIALS + settings.warmup)):
        for one in configurations:
            so_far = tried.seconds.get(one.config_id, 0.0)
            enough = 1 if so_far > _LONG_SECONDS else _TRIALS if so_far > _FAST_SECONDS else _MOST_TRIALS
            if number >= max(enough, settings.warmup and _TRIALS + settings.warmup):
                continue
            before = {path: status_of(path) for path in files[one.config_id]}
            begun = clock.monotonic()
            result, answer = executor.trial(one, limit)
            tried.beside[one.config_id] = clock.monotonic() - begun
            if result.error is not None:
                failed[one.config_id] += 1
                if not answers[one.config_id] or _gone(files[one.config_id]):
                    raise _refusal(one, result.error, _gone(files[one.config_id]))
                continue
            tried.seconds[one.config_id] = min(so_far or result.elapsed_seconds, result.elapsed_seconds)
            if number < _TRIALS:
                answers[one.config_id].append(answer)
            changed |= dict.fromkeys(
                f"{one.name} changes {path}, which it is given: each run finds what the one before left. "
                "--prepare can restore it"
                for path, status in before.items()
                if status is not None and status_of(path) != status
            )
    unsteady = [
        f"{one.name} failed in {text.count(failed[one.config_id], 'run')} before the first round"
        for one in configurations
        if failed[one.config_id]
    ]
    remarks = [*changed, *unsteady, *_outputs(configurations, answers), *_work(configurations, answers)]
    calibration = _calibrated(configurations, executor, tried.seconds) if settings.calibrate else {}
    return Tried(tried.seconds, tried.beside, tuple(remarks), calibration)


def _files(one: Configuration, settings: Settings) -> list[Path]:
    """The files that the command is given by name, or reads."""
    folder = Path(str(one.start.get("folder") or "."))
    words = [
        one.command[0],
        *(str(folder / word) if not word.startswith("/") else word for word in one.command[1:]),
    ]
    own = [settings.input] if settings.input is not None else []
    return list(dict.fromkeys([*named_files(words), *own]))


def _gone(files: Sequence[Path]) -> Path | None:
    return next((path for path in files if not path.exists()), None)


def _refusal(one: Configuration, error: Failure, gone: Path | None) -> TautoError:
    if gone is not None:
        return TautoError(
            f"{one.name} failed: {error.message}. {gone} was there before the first run, and is gone: a "
            "command of this comparison removed it",
            "Let --prepare make it anew before each run",
        )
    remedy = {
        "timeout": "Give it more with --time-limit",
        "not_installed": "Build it, or correct the path",
    }.get(error.kind, f"Run it by hand: {shlex.join(one.command)}. --ignore-failure counts such runs")
    if "terminal" in error.message:
        remedy = "Use its batch mode, or give it --input FILE"
    return TautoError(f"{one.name} cannot be measured: {error.message}", remedy)


def _outputs(configurations: Sequence[Configuration], answers: Mapping[str, Sequence[Answer]]) -> list[str]:
    """Who prints something else: each time, or than the reference."""
    remarks = []
    printed: dict[str, tuple[int | None, str | None]] = {}
    for one in configurations:
        seen = {(answer.stdout_bytes, answer.stdout_hash) for answer in answers[one.config_id]}
        if len(seen) > 1:
            remarks.append(f"{one.name} prints differently each time: see whether it does the same work")
        elif seen:
            printed[one.name] = next(iter(seen))
    names = list(printed)
    others = [name for name in names[1:] if printed[name] != printed[names[0]]]
    if names and names[0] == configurations[0].name and others:
        remarks.append(
            f"{text.joined(others)} {'prints' if len(others) == 1 else 'print'} something else than "
            f"{names[0]}: see whether the work is the same"
        )
    return remarks


def _work(configurations: Sequence[Configuration], answers: Mapping[str, Sequence[Answer]]) -> list[str]:
    """Who uses so little of the reference's CPU time that it may not have done the work."""
    spent = {
        one.config_id: statistics.median(answer.user_seconds + answer.system_seconds for answer in several)
        for one in configurations
        if (several := answers[one.config_id])
    }
    usual = spent.get(configurations[0].config_id, 0.0)
    if usual < _LEAST_CPU_SECONDS:
        return []
    return [
        f"{one.name} uses {100 * spent[one.config_id] / usual:.2g} % of the CPU time of "
        f"{configurations[0].name}: see whether it does the work"
        for one in configurations[1:]
        if spent.get(one.config_id, usual) < _LEAST_CPU_SHARE * usual
    ]


def _calibrated(
    configurations: Sequence[Configuration], executor: Tries, seconds: Mapping[str, float]
) -> dict[str, Calibrated]:
    from tautochrone.comparing.calibration import calibrated

    return {one.name: calibrated(one, executor, seconds[one.config_id]) for one in configurations}

"""Run a command, or so many runs of a short one that its time can be told, through ``tauto-timer``."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from tautochrone.comparing.analysis import objective_of
from tautochrone.comparing.settings import Settings
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.measuring.answers import Errno, read_answer
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.objective import MATCHED, PrintedNumber, refusal_of
from tautochrone.measuring.shell import refusal
from tautochrone.measuring.subprocess_executor import last_lines, let_end, padding, pipes, signal_name
from tautochrone.measuring.temporary import temporary_file
from tautochrone.results.row import Failure

PROGRAM = "tauto-timer"
WINDOW_SECONDS = 0.04
SHORT_SECONDS = 2e-3
"""A command below it is run again and again for a window; the run's time is the median of these."""

MOST_REPEATS = 1000
_PATIENCE_SECONDS = 10.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the timer reports: of `runs` runs one after the other, sums but for lists and maxima."""

    number: int = 0
    runs: int = 0
    elapsed: tuple[float, ...] = ()
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    max_rss_bytes: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    exit_codes: tuple[int, ...] = ()
    stopped_for: str | None = None
    start_error: Errno | None = None
    left_running: tuple[str, ...] = ()
    held_by: str | None = None
    stdout: str | None = None
    stdout_bytes: int | None = None
    stdout_hash: str | None = None
    outputs_differ: bool | None = None
    stderr: str = ""
    load_before: float | None = None
    others_cpu_seconds: float | None = None
    steal_seconds: float | None = None
    bridge: str | None = None
    bridge_seconds: float | None = None
    reads_terminal: bool = False
    counters: dict[str, float | None] = {}
    counters_scope: str | None = None
    counters_reason: str | None = None
    error: str | None = None


class Timer:
    """The process that starts commands. Use it as a context, or `close` it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0

    def ask(self, request: Mapping[str, object]) -> Answer:
        """One request and its answer. TautoError where the timer ends instead."""
        self._number += 1
        process = self._started()
        requests, answers = pipes(process)
        try:
            line = b""
            with suppress(BrokenPipeError):
                requests.write(json.dumps({**request, "number": self._number}).encode() + b"\n")
                requests.flush()
                line = answers.readline()
            if not line:
                raise TautoError(
                    f"{PROGRAM} ended ({process.poll()}) during a run", "Start the command again"
                )
            answer = read_answer(line, Answer, PROGRAM)
            if answer.error is not None:
                raise TautoError(f"{PROGRAM} refused a request: {answer.error}", "Report it with the command")
        except BaseException:
            self.close()
            raise
        return answer

    def close(self) -> None:
        """End the timer, and what may still run. Closing twice is allowed."""
        process, self._process = self._process, None
        if process is not None:
            let_end(process, _PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [str(runners.find(PROGRAM))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # the terminal's Ctrl-C reaches the lab alone, which ends the run
            )
        return self._process


class CommandExecutor:
    """Runs commands as `Settings` say. A configuration's `start` has what the timer takes beside its words.

    `short`: the config_ids of the commands that are run for a window.
    """

    def __init__(self, settings: Settings, timer: Timer | None = None) -> None:
        self._settings = settings
        self._timer = timer or Timer()
        self._objective = objective_of(settings.objective)
        self._runs: Counter[str] = Counter()
        self.short: set[str] = set()

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """A run, or a window of them, with what is to be done before and after."""
        return self._between(configuration, lambda: self._measured(configuration, time_limit))[0]

    def trial(self, configuration: Configuration, time_limit: float) -> tuple[RunResult, Answer]:
        """One run, with all that is known of it; what it prints is kept."""

        def tried() -> tuple[RunResult, Answer]:
            answer = self._ask(configuration, time_limit, output="keep")
            return self._result(configuration, answer, time_limit, None), answer

        return self._between(configuration, tried)

    def _between(
        self, configuration: Configuration, measured: Callable[[], tuple[RunResult, Answer]]
    ) -> tuple[RunResult, Answer]:
        """A run between ``--prepare`` and ``--conclude``; where one of these fails, it has no figure."""
        before, after = (str(configuration.start.get(name) or "") for name in ("prepare", "conclude"))
        if before and (failed := by_shell(before, "--prepare", configuration)):
            return RunResult(None, 0.0, error=failed), Answer()
        result, answer = measured()
        if after and (failed := by_shell(after, "--conclude", configuration)) and result.error is None:
            result = msgspec.structs.replace(result, seconds=None, error=failed)
        return result, answer

    def close(self) -> None:
        """End the timer."""
        self._timer.close()

    def _measured(self, configuration: Configuration, time_limit: float) -> tuple[RunResult, Answer]:
        if self._settings.check is None:
            keep = isinstance(self._objective, PrintedNumber)
            answer = self._ask(configuration, time_limit, output="keep" if keep else "null")
            return self._result(configuration, answer, time_limit, None), answer
        with temporary_file("tauto-output-") as whole:
            answer = self._ask(configuration, time_limit, output=str(whole))
            return self._result(configuration, answer, time_limit, whole), answer

    def _ask(self, configuration: Configuration, time_limit: float, output: str) -> Answer:
        count = self._runs[configuration.config_id]
        self._runs[configuration.config_id] += 1
        request: dict[str, Any] = {
            "command": list(configuration.command),
            "set": {**configuration.environment, **padding(self._settings.seed, configuration, count)},
            "output": output,
            "time_limit": time_limit,
        }
        request |= {
            name: value
            for name, value in configuration.start.items()
            if name in ("cpus", "folder", "input") and value is not None
        }
        if configuration.config_id in self.short:
            request |= {"repeat": MOST_REPEATS, "window_seconds": WINDOW_SECONDS}
            request["after_failure"] = self._settings.ignore_failure != ()
        return self._timer.ask(request)

    def _result(
        self, configuration: Configuration, answer: Answer, time_limit: float, whole: Path | None
    ) -> RunResult:
        runs = max(answer.runs, 1)
        result = RunResult(
            None,
            sum(answer.elapsed),
            cpus=len(os.sched_getaffinity(0)),
            user_seconds=answer.user_seconds / runs,
            system_seconds=answer.system_seconds / runs,
            max_rss_bytes=answer.max_rss_bytes or None,
            voluntary_switches=round(answer.voluntary_switches / runs),
            involuntary_switches=round(answer.involuntary_switches / runs),
            load_before=answer.load_before,
            others_cpu_seconds=answer.others_cpu_seconds,
            steal_seconds=answer.steal_seconds,
            held_by=answer.held_by,
            bridge=answer.bridge,
            bridge_seconds=answer.bridge_seconds,
            counters=_counters(answer, runs),
            counters_reason=answer.counters_reason,
        )
        error = failure(configuration, answer, time_limit, self._settings)
        record: dict[str, object] = {}
        if error is None:
            record, error = self._judged(answer, whole)
        record |= {
            "runs": answer.runs,
            "switches": (answer.voluntary_switches + answer.involuntary_switches) / runs,
            "faults": (answer.minor_faults + answer.major_faults) / runs,
        }
        seconds = statistics.median(answer.elapsed) if answer.elapsed and error is None else None
        return msgspec.structs.replace(result, seconds=seconds, record=record, error=error)

    def _judged(self, answer: Answer, whole: Path | None) -> tuple[dict[str, object], Failure | None]:
        """What to keep of what a good run printed, and why it does not count."""
        record: dict[str, object] = {}
        if isinstance(self._objective, PrintedNumber):
            printed = answer.stdout or "" if whole is None else whole.read_text(errors="replace")
            value = self._objective.matched(printed, answer.stderr)
            if why := self._objective.refusal(value):
                return record, Failure("failed", why)
            record[MATCHED] = value
        if whole is not None and (why := refusal_of(self._settings.check or "", whole, None)):
            return record, Failure("wrong_answer", why)
        return record, None


def _counters(answer: Answer, runs: int) -> dict[str, int | float | str] | None:
    """What the hardware counted, a run; None where nothing was."""
    known = {name: count / runs for name, count in answer.counters.items() if count is not None}
    return {**known, "scope": answer.counters_scope or ""} if known else None


def failure(
    configuration: Configuration, answer: Answer, time_limit: float, settings: Settings
) -> Failure | None:
    """Why runs do not count; None for good ones."""
    program = configuration.command[0]
    if answer.start_error is not None:
        there = shutil.which(program) is not None or Path(program).exists()
        return Failure(
            "failed" if there else "not_installed",
            f"{program} cannot be started: {os.strerror(answer.start_error)}",
        )
    if answer.reads_terminal:
        return Failure("failed", "it wants to read the terminal, which a measured program has not")
    if answer.stopped_for == "timeout":
        return Failure("timeout", f"it did not end within {time_limit:g} s")
    bad = next((code for code in answer.exit_codes if not settings.counts(code)), None)
    if bad is not None:
        how = f"ended with exit code {bad}" if bad >= 0 else f"was killed by {signal_name(-bad)}"
        return Failure("failed", f"it {how}{last_lines(answer.stderr)}")
    if answer.left_running:
        names = ", ".join(dict.fromkeys(answer.left_running))
        return Failure(
            "failed",
            f"it left work running in the background ({names}), whose time would not count: use its "
            "option to stay in the foreground",
        )
    return None


def by_shell(line: str, option: str, configuration: Configuration) -> Failure | None:
    """Run a line beside the measuring; why it failed, or None."""
    folder = configuration.start.get("folder")
    why = refusal(
        line,
        option,
        folder=None if folder is None else str(folder),
        environment=configuration.environment,
    )
    return Failure("failed", why) if why else None

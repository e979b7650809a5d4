"""All that comes before a search: the request is checked, the command runs once, the space is built.

This first run decides whether the command can be tuned at all, and shows what it loads.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import stat
import termios
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from tautochrone.energy.find import Found, check_objective
from tautochrone.errors import TautoError
from tautochrone.inspection.findings import Findings, inspect
from tautochrone.inspection.watching import Watched, watch
from tautochrone.machine.record import Machine
from tautochrone.measuring.identity import as_before, files_of, named_files, status_of
from tautochrone.measuring.objective import Objective, parse_objective
from tautochrone.measuring.subprocess_executor import Printed, output_file
from tautochrone.programs.commands import behind
from tautochrone.results import context as contexts
from tautochrone.results.store import Store
from tautochrone.tune.answer import TuneContext
from tautochrone.tune.applying import Applied, applied
from tautochrone.tune.judging import Judging
from tautochrone.tune.options import TuneRequest, check_numbers
from tautochrone.tune.same_file import files_here, refuse_same_file
from tautochrone.tune.same_work import Words, tells_of_work
from tautochrone.tune.search import round_seconds_at_first
from tautochrone.tune.services import Services
from tautochrone.tune.space import Space, build_space, check_names, default_settings
from tautochrone.tune.spreading import alike, check_spreading, runs_elsewhere, scratch_of
from tautochrone.tune.values import place_of

SHORTEST_SECONDS = 0.005
_WINDOW_SECONDS = 0.1
_LEAST_ROUNDS = 2
_TERMINAL = re.compile(
    r"not a (?:tty|terminal)|no such device or address|/dev/tty|error opening terminal|"
    r"inappropriate ioctl|TERM environment variable|stdin is not|requires a terminal|"
    r"failed tty get|is not (?:to|from) a terminal",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that was checked against program and machine."""

    request: TuneRequest
    judging: Judging
    machine: Machine
    findings: Findings
    space: Space
    watched: Watched
    meter: Found | None
    files: tuple[Path, ...] = ()  # those that the work of the command as it is depends on

    @property
    def longest_seconds(self) -> float:
        """How long a run of the default takes, with all its repetitions."""
        return self.watched.seconds * self.request.repeat

    @property
    def summary(self) -> str:
        """What the first run showed, in a sentence."""
        watched = self.watched
        threads = f", with up to {watched.most_threads} threads at once" if watched.most_threads > 1 else ""
        first = f"{watched.seconds:.3g} s in its first run, which may be slower than others"
        return f"{shlex.join(self.request.command)} took {first}{threads}"


def prepare(request: TuneRequest, services: Services) -> Prepared:
    """Everything before the first measured run. TautoError for the first thing that stands in the way."""
    if not request.command:
        raise TautoError("no command was given", "Write it behind two dashes: tauto tune -- ./solver case")
    check_numbers(request)
    objective = parse_objective(request.objective)
    check_spreading(request, objective)
    judging = Judging(objective, request.check, request.same_output)
    behind(request.command)  # refuses a command that cannot be found before anything runs
    check_names(request)
    if input_is_lost():
        services.say(
            "tauto: warning: runs have no standard input: what is given here is not read. "
            "Let the command open it: tauto tune -- sh -c './solver < case.in'"
        )
    meter = meter_for(request, objective, services)
    machine = _read_machine(request, "none", services)
    default = applied(request.command, request.arguments, default_settings(request))
    named = {path: status_of(path) for path in named_files(default.command)}
    watched = try_out(default, request, judging)
    files = tuple(files_of(default.command, default.environment, as_before(named)))
    judging = replace(
        judging,
        trial=Words.of(watched.output, watched.errors),
        telling=tells_of_work(watched.output, (*default.command, *os.environ.values()), files),
    )
    findings = inspect(default.command, machine, watched)
    machine = _machine(request, findings, machine, services)
    request = _afforded(request, watched)
    space = build_space(request, findings, place_of(machine))
    check_budget(request, watched, len(space.candidates))
    return Prepared(
        request=request,
        judging=judging,
        machine=machine,
        findings=findings,
        space=space,
        watched=watched,
        meter=meter,
        files=files,
    )


def meter_for(request: TuneRequest, objective: Objective, services: Services) -> Found | None:
    """This machine's meter, or why there is none, which is an error where joules are the objective.

    None where the runs take place on other machines.
    """
    if runs_elsewhere(request):
        return None
    found = services.meter()
    kind = objective.kind if objective.needs_meter else "time"
    check_objective(kind, found, lambda sentence: services.say(f"tauto: warning: {sentence}"))
    return found


def _machine(request: TuneRequest, findings: Findings, machine: Machine, services: Services) -> Machine:
    """With measured speeds where weights may be made of them; a continued search keeps its first ones."""
    if not request.fresh and (stored := Store.machine_in(request.folder)):
        before = msgspec.convert(stored, Machine)
        if before.machine == machine.machine or (runs_elsewhere(request) and alike(before, machine)):
            return before
    if findings.has_openmp and findings.schedules.has_static_loops is not False:
        return _read_machine(request, "quick", services)
    return machine


def _read_machine(request: TuneRequest, measure: str, services: Services) -> Machine:
    return services.nodes(request, measure) if runs_elsewhere(request) else services.machine(measure)


# -- the first run --


def try_out(default: Applied, request: TuneRequest, judging: Judging) -> Watched:
    """Run the default once and watch it. TautoError for a program that cannot be tuned, with the remedy."""
    limit = request.time_limit_seconds or max(request.budget_seconds, 1.0)
    before = files_here(request)
    with ExitStack() as stack:
        begun = time.monotonic()
        folder = stack.enter_context(scratch_of(request)()) if request.scratch else None
        copied = time.monotonic()
        elsewhere = runs_elsewhere(request)
        results = request.folder if elsewhere else None
        whole = stack.enter_context(output_file(results)) if judging.needs_whole_output else None
        run = partial(
            watch,
            default.command,
            limit,
            default.environment,
            through=request.launcher,
            runs_here=not elsewhere,
        )
        watched = run(folder, whole)
        words = shlex.join(request.command)
        _refuse_failure(watched, words, limit)
        _refuse_daemon(watched, words)
        ended = time.monotonic()
        _refuse_answer(watched, judging, whole, folder)
        watched = replace(watched, beside_seconds=copied - begun + time.monotonic() - ended)
    if watched.seconds < SHORTEST_SECONDS and request.repeat == 1:
        times = max(2, round(_WINDOW_SECONDS / max(watched.seconds, 1e-4)))
        raise TautoError(
            f"{words} ends after {1000 * watched.seconds:.2g} ms: "
            f"below {1000 * SHORTEST_SECONDS:.0f} ms mostly the start of the process is measured",
            f"Give it more work, or let it run {times} times in one window: --repeat {times}",
        )
    if not request.scratch:
        refuse_same_file(request, before, run, words)
    return watched


def input_is_lost(descriptor: int = 0) -> bool:
    """Whether standard input is a file or has output of another program, which no run will read."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    if not stat.S_ISFIFO(mode):
        return stat.S_ISREG(mode)
    waiting = bytearray(4)  # the number of bytes
    fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return any(waiting)


def _afforded(request: TuneRequest, watched: Watched) -> TuneRequest:
    """With as many candidates as the budget holds two rounds of; a search that goes on keeps its number."""
    if not request.fresh and Store.machine_in(request.folder):
        before = contexts.load(TuneContext(), request.folder).most_candidates
        return replace(request, most_candidates=before or request.most_candidates)
    one_run = watched.seconds * request.repeat + watched.beside_seconds
    held = int(request.budget_seconds / round_seconds_at_first(one_run, 1) / _LEAST_ROUNDS)
    return replace(request, most_candidates=max(2, min(request.most_candidates, held)))


def check_budget(request: TuneRequest, watched: Watched, candidates: int) -> None:
    """TautoError where the budget does not hold two rounds of all candidates."""
    one_run = watched.seconds * request.repeat + watched.beside_seconds
    one_round = round_seconds_at_first(one_run, candidates)
    if _LEAST_ROUNDS * one_round > request.budget_seconds:
        most = int(request.budget_seconds / round_seconds_at_first(one_run, 1) / _LEAST_ROUNDS)
        fewer = f", or try fewer: --candidates {most}" if most >= 2 else ", or give the program less work"
        raise TautoError(
            f"a budget of {request.budget_seconds:g} s is too small for {_LEAST_ROUNDS} rounds of "
            f"{candidates} candidates: one round takes about {one_round:.3g} s",
            f"Add --budget {_budget(4 * one_round)}{fewer}",
        )


def _budget(seconds: float) -> str:
    return f"{max(1, round(seconds))}s" if seconds < 120 else f"{round(seconds / 60) + 1}m"


def _refuse_failure(watched: Watched, words: str, limit: float) -> None:
    lines = [line.strip() for line in watched.errors.splitlines() if line.strip()]
    end = f": {'; '.join(lines[-2:])}" if lines else ""
    if watched.stopped:
        raise TautoError(
            f"{words} did not end within {limit:g} s{end}",
            "Give it less work, or more time with --time-limit and --budget",
        )
    if watched.exit_code == 0:
        return
    if _TERMINAL.search(watched.errors) or _TERMINAL.search(watched.output):
        raise TautoError(
            f"{words} needs a terminal, and runs here have none{end}",
            "Use its batch mode, or wrap it: script -qec 'COMMAND' /dev/null",
        )
    how = f"exit code {watched.exit_code}" if watched.exit_code > 0 else f"signal {-watched.exit_code}"
    raise TautoError(
        f"{words} fails as it is, with {how}{end}", "Fix that first: only a program that works can be tuned"
    )


def _refuse_daemon(watched: Watched, words: str) -> None:
    if watched.left_running:
        names = ", ".join(dict.fromkeys(watched.left_running))
        raise TautoError(
            f"{words} goes on in the background after its command has ended (still running: {names}), "
            "so its time cannot be measured",
            "Use its option to stay in the foreground",
        )


def _refuse_answer(watched: Watched, judging: Judging, whole: Path | None, folder: Path | None) -> None:
    _, error = judging(Printed(watched.output, watched.errors, whole), folder)
    if error is None:
        return
    if error.kind == "failed":
        raise TautoError(
            f"{error.message} in its default run",
            "Look at what it prints on standard output and standard error, and put the number in brackets: "
            "'regex:time: ([0-9.]+)'",
        )
    raise TautoError(f"the default run does not pass --check: {error.message}", "Correct the check first")

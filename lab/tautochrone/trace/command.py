"""``tauto trace -- COMMAND``: what each thread did, as a sentence, a page and a Perfetto file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TextIO

import msgspec

from tautochrone import text
from tautochrone.energy.find import Found, check_objective, find_meter
from tautochrone.energy.recorder import EnergyRecorder
from tautochrone.errors import TautoError, explained, printable
from tautochrone.files import write_whole
from tautochrone.machine import runners
from tautochrone.measuring.foreground import NOT_FOUND, Foreground, left_running_words
from tautochrone.measuring.inside import counters
from tautochrone.measuring.sampler import CpuSampler
from tautochrone.options import Option, Words
from tautochrone.schemas.of_executables import Balance
from tautochrone.trace import findings, page, perfetto
from tautochrone.trace.balanced import Answer, in_words, with_balance
from tautochrone.trace.threads import HERTZ, ThreadSampler, Traced

TRACE_SCHEMA = "tautochrone.trace/1"
LOAD_INTERVAL_SECONDS = 0.2
_SLOWEST_HERTZ, _FASTEST_HERTZ = 1.0, 50.0


@dataclass(frozen=True)
class TraceRequest:
    """Run a command and draw which thread worked and which waited.

    Samples /proc 20 times a second. Says how uneven the threads' work is (the busiest over the mean), how
    often they moved between CPUs, and names the thread that the others wait for.

    \b
    Examples:
      tauto trace -- ./solver case.in
      tauto trace --output night.html --json -- make -j4 test
      tauto trace --balance -- ./solver case.in
    """  # noqa: D301

    command: Annotated[tuple[str, ...], Words("What to run.")]
    output: Annotated[Path, Option("The timeline, a page that opens offline.", "FILE")] = Path(
        "tauto-trace.html"
    )
    perfetto: Annotated[
        Path | None, Option("The timeline for ui.perfetto.dev. Default: beside the page, .json.", "FILE")
    ] = None
    hertz: Annotated[float, Option("Samples a second, 1 to 50.")] = HERTZ
    balance: Annotated[
        bool, Option("Let tauto balance start the command, and draw how far each thread got.")
    ] = False
    json: Annotated[bool, Option("Print the figures as JSON on standard output.")] = False

    @property
    def timeline(self) -> Path:
        """Where the Perfetto file goes."""
        return self.perfetto or self.output.with_suffix(".json")

    def run(self) -> int:
        return run_trace_command(self)


@dataclass(frozen=True)
class TraceServices:
    """What the command needs from outside; tests replace it."""

    find: Callable[[], Found] = find_meter
    output: TextIO = field(default_factory=lambda: sys.stdout)
    messages: TextIO = field(default_factory=lambda: sys.stderr)


def run_trace_command(request: TraceRequest, services: TraceServices | None = None) -> int:
    """Run, write page and Perfetto file, print the advice; returns the command's exit status.

    It is 127 for a command that was not found. TautoError for a wrong request, and for files that cannot be
    written.
    """
    services = services or TraceServices()
    _check(request)
    found = services.find()
    check_objective("time", found, lambda notice: print(f"tauto: warning: {notice}", file=services.messages))
    with Answer() as answer:
        child = Foreground(_words(request, answer))
        traced = _traced(request, child, found, services)
        if isinstance(traced, int):
            return traced
        if request.balance:
            traced = with_balance(traced, child.pid, answer.read())
            if traced.balance is None and not traced.threads.tracks:  # it has said why nothing was started
                return traced.ended.exit_code
    judged = findings.find(traced.threads.tracks, traced.ended.seconds, traced.migrations, len(traced.cpus))
    if traced.balance is not None:  # whose threads work as much as they are given
        judged = replace(judged, advice=f"tauto balance: {in_words(traced.balance)}.")
    watts = traced.energy.watts() if traced.energy is not None else []
    timeline = perfetto.events(traced.threads.tracks, traced.load.samples, watts)
    for path, content in (
        (request.output, page.render(traced, judged)),
        (request.timeline, json.dumps(timeline)),
    ):
        with explained(f"{path} cannot be written", "Make room there, or choose another place"):
            write_whole(path, content)
    record = as_record(traced, judged)
    if request.json:
        print(text.as_json(record), file=services.output, flush=True)
    _say(traced, judged, request, services)
    return traced.ended.exit_code


def _words(request: TraceRequest, answer: Answer) -> list[str]:
    if not request.balance:
        return list(request.command)
    return [str(runners.find("tauto-balance")), f"--report={answer.path}", "--", *request.command]


def _traced(request: TraceRequest, child: Foreground, found: Found, services: TraceServices) -> Traced | int:
    """What was seen, or the exit status where the command was not found."""
    try:
        return _trace(request, child, found)
    except TautoError as error:
        print(f"tauto: error: {printable(str(error))}", file=services.messages)
        return NOT_FOUND
    except BaseException:
        child.abandon()
        raise
    finally:
        if found.meter is not None:
            found.meter.close()


def _check(request: TraceRequest) -> None:
    if not _SLOWEST_HERTZ <= request.hertz <= _FASTEST_HERTZ:
        raise TautoError(
            f"--hertz {request.hertz:g} is not between {_SLOWEST_HERTZ:g} and {_FASTEST_HERTZ:g}",
            f"Leave it out for {HERTZ:g}: more samples would disturb what they show",
        )
    if request.output == request.timeline:
        raise TautoError(
            f"the page and the Perfetto file would both be {request.output}", "Give them two names"
        )
    for path in (request.output, request.timeline):
        if not path.parent.is_dir():
            raise TautoError(f"{path} cannot be written: there is no folder {path.parent}", "Create it first")


def _trace(request: TraceRequest, child: Foreground, found: Found) -> Traced:
    cpus = tuple(sorted(os.sched_getaffinity(child.pid)))
    counted = counters.Counters(child.pid)
    with ExitStack() as stack:
        recording = None
        if found.meter is not None:
            recording = stack.enter_context(EnergyRecorder(found.meter, watched=child.pid))
        load = stack.enter_context(CpuSampler(cpus, LOAD_INTERVAL_SECONDS))
        child.start()
        threads = stack.enter_context(ThreadSampler(child.pid, request.hertz))
        ended = child.wait()
    _, _, software = counted.read(ended.cpu_seconds)
    moved = software["migrations"]
    migrations = int(moved) if moved is not None else None
    return Traced(request.command, ended, threads, load, recording, migrations, cpus, found.unavailable)


class ThreadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A thread that was looked at."""

    tid: int
    pid: int
    name: str
    run_seconds: float
    wait_seconds: float | None  # in which it could have run
    moves: int  # to another CPU, as the samples saw it
    cpus: list[int]


class TraceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto trace --json` prints."""

    schema: str = TRACE_SCHEMA
    command: list[str]
    exit_code: int
    seconds: float
    cpu_seconds: float
    left_running: list[str]  # processes that it left behind
    cpus: list[int]
    imbalance: float | None  # the busiest thread's time over the mean
    unbalanced_tid: int | None
    migrations: int
    migrations_counted_by: str  # kernel or samples
    migrations_per_second: float | None
    advice: str
    joules: float | None
    joules_reason: str | None
    joules_remedy: str | None
    samples: int
    sampler_cpu_seconds: float
    threads_left_out: int
    threads: list[ThreadRecord]
    balance: Balance | None  # with --balance: what tauto balance did


def as_record(traced: Traced, judged: findings.Findings) -> TraceRecord:
    """The figures as ``--json`` prints them."""
    why = traced.no_joules
    return TraceRecord(
        command=list(traced.command),
        exit_code=traced.ended.exit_code,
        seconds=traced.ended.seconds,
        cpu_seconds=traced.ended.cpu_seconds,
        left_running=list(traced.ended.left_running),
        cpus=list(traced.cpus),
        imbalance=judged.imbalance,
        unbalanced_tid=judged.unbalanced.tid if judged.unbalanced else None,
        migrations=judged.migrations,
        migrations_counted_by="kernel" if traced.migrations is not None else "samples",
        migrations_per_second=judged.migrations_per_second,
        advice=judged.advice,
        joules=traced.energy.joules if traced.energy else None,
        joules_reason=why.reason if why is not None else None,
        joules_remedy=why.remedy or None if why is not None else None,
        samples=traced.threads.samples,
        sampler_cpu_seconds=traced.sampler_cpu_seconds,
        threads_left_out=traced.threads.left_out,
        threads=[
            ThreadRecord(
                tid=track.tid,
                pid=track.pid,
                name=track.name,
                run_seconds=track.run_seconds,
                wait_seconds=track.wait_seconds,
                moves=track.moves,
                cpus=sorted({piece.cpu for piece in track.slices}),
            )
            for track in traced.threads.tracks
        ],
        balance=traced.balance,
    )


def _say(traced: Traced, judged: findings.Findings, request: TraceRequest, services: TraceServices) -> None:
    notice = traced.energy.notice if traced.energy is not None else None
    for error in (traced.threads.error, traced.load.error, left_running_words(traced.ended) or None, notice):
        if error is not None:
            print(f"tauto: warning: {printable(str(error))}", file=services.messages)
    print(printable(judged.advice), file=services.messages)
    for what, path in (("Timeline", request.output), ("Perfetto", request.timeline)):
        print(f"{what + ':':9} {path}", file=services.messages)

"""The benchmarks by their ids, and what is printed and stored around each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchmarks import applying, bodies, change, gaps, loops, members, metering, micro, reduce, weighted
from benchmarks.context import Context, Interrupted
from benchmarks.entry import Entry, not_measured
from benchmarks.load import LoadWatch, sentence
from tautochrone.errors import TautoError


@dataclass(frozen=True)
class Benchmark:
    """An id, what it measures, its target in words, and how."""

    id: str
    what: str
    target_text: str
    target: float
    measure: Callable[[Context], list[Entry]]


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        "B1",
        "empty parallel_for over 2 members, hot, against libgomp's and libomp's empty parallel region",
        "≤ 0.45 of the better one",
        0.45,
        micro.fork,
    ),
    Benchmark("B2", "the same against the core-to-core round trip", "≤ 1.4", 1.4, micro.round_trip),
    Benchmark(
        "B3",
        "loop study, equal cores, 500 … 8000: adaptive against the best of all peers and schedules",
        "≤ 1.03 at every size",
        1.03,
        loops.equal_cores,
    ),
    Benchmark(
        "B4",
        "loop study, core 1 slowed by 2, 4, 8: (a) against the best of all peers, schedules and placements; "
        "(b) against each peer's default",
        "(a) ≤ 1.03 in every cell, ≤ 1.00 in the geometric mean; (b) ≤ 0.75 in the geometric mean",
        1.0,
        loops.unequal_cores,
    ),
    Benchmark("B5", "the same against the bound W/Σs, 2000 … 8000", "≤ 1.06", 1.06, loops.bound),
    Benchmark(
        "B6",
        "sum of 64 floats: parallel_for against the plain loop",
        "≤ plain + 40 ns",
        40.0,
        micro.too_short,
    ),
    Benchmark(
        "B7",
        "8 members on 2 CPUs, 10,000 small loops",
        "≤ 1.5 × serial; no CPU use 5 ms after the last",
        1.5,
        micro.oversubscribed,
    ),
    Benchmark(
        "B8",
        "a core slowed at 3 s and freed at 6 s: loops until within 5 % of the new optimum",
        "≤ 50 loops",
        change.TARGET,
        change.change,
    ),
    Benchmark(
        "B9", "50 tasks of 0.4, 1, 3 ms against ceil(50/2) of them", "≤ 1.01", 1.01, reduce.whole_tasks
    ),
    Benchmark(
        "B10",
        "1,000 tasks of 1 µs and 10,000 of 0.1 µs: against work/2, against Qt, against the best peer",
        "≤ 1.02 and ≤ 1.06; ≤ 0.90 and ≤ 0.5; ≤ 1.02",
        1.02,
        reduce.short_tasks,
    ),
    Benchmark(
        "B11",
        "sum of 1,000 and of 10⁶ doubles, deterministic, against the best peer's in any order",
        "≤ 0.7; ≤ 1.02",
        1.02,
        reduce.sums,
    ),
    Benchmark("B12", "deterministic against our own unordered", "≤ 1.05", 1.05, reduce.own_unordered),
    Benchmark(
        "B13",
        "core 1 slowed by 4: 1,000 tasks of 100 µs, 50 of 0.4 ms: the best split, the best peer",
        "≤ 1.03; ≤ 0.98",
        1.03,
        reduce.slowed_tasks,
    ),
    Benchmark(
        "B14",
        "pauses of 10 ms: CPU time and the next loop, against libgomp and oneTBB",
        "≤ 0.3; ≤ 1.0",
        gaps.CPU_TARGET,
        gaps.waiting,
    ),
    Benchmark(
        "B15",
        "barrier of 2 members against the better of libgomp's and libomp's; against a one-way transfer",
        "≤ 0.55; ≤ 1.4",
        0.55,
        members.barrier,
    ),
    Benchmark(
        "B16",
        "all_reduce of 1 and 7 doubles against the better MPI",
        "≤ 0.30",
        0.30,
        members.short_reductions,
    ),
    Benchmark(
        "B17",
        "all_reduce and all_gather, fresh data, 8 … 65,536 words, against the better MPI at each length",
        "≤ 0.6 each; geometric mean ≤ 0.4",
        0.6,
        members.every_length,
    ),
    Benchmark(
        "B18",
        "the same curves: a length cheaper than a shorter one, a jump between neighbours 5 % apart",
        "none below 0.97 of a shorter one's time; none above 1.25",
        members.JUMP_TARGET,
        members.smooth,
    ),
    Benchmark(
        "B19",
        "acceleration and jerk, 53 active of 1024, one core, double",
        "≤ 1.0 ns a pair (AVX-512, about 3 GHz); relative force error ≤ 1e-14",
        bodies.RATE_TARGET_NANOSECONDS,
        bodies.gravity,
    ),
    Benchmark(
        "B20",
        "N-body, N = 1024, 4th order, a block: 2 members against 1",
        "≥ 1.85 times as fast",
        bodies.SPEEDUP_TARGET,
        bodies.speed_up,
    ),
    Benchmark(
        "B21",
        "the same against OpenMP loops, OpenMP in one region, Open MPI, MPICH, all with our kernel",
        "≤ 0.9 of the best",
        bodies.RIVAL_TARGET,
        bodies.rivals,
    ),
    Benchmark(
        "B22",
        "the scheme chosen for each block against the best fixed one, in each class of active counts",
        "≤ 1.05 everywhere",
        bodies.AUTO_TARGET,
        bodies.chosen_schemes,
    ),
    Benchmark(
        "B23",
        "with another busy process on the machine: 2 members against 1",
        "≤ 1.15",
        bodies.LOADED_TARGET,
        bodies.beside_another,
    ),
    Benchmark(
        "B24",
        "CPU time of the samplers of energy and threads at their default rates",
        "≤ 1 % of one core",
        metering.SAMPLER_TARGET,
        metering.sampling,
    ),
    Benchmark(
        "B25",
        "a run of 10 s under `tauto energy` against the same run alone",
        "≤ 1.01",
        metering.RUN_TARGET,
        metering.around_a_run,
    ),
    Benchmark(
        "B26",
        "`tauto run PROFILE -- COMMAND`: what it adds at the start, and while the command runs",
        "≤ 30 ms; ≤ 1.01",
        applying.START_TARGET_MILLISECONDS,
        applying.starting,
    ),
    Benchmark(
        "B27",
        "a static OpenMP loop on libgomp, core 1 slowed by 4, with what `tauto tune` finds alone",
        "≤ 1.11 of W/Σs; ≤ 0.556 of the default",
        weighted.BOUND_TARGET,
        weighted.unequal_cores,
    ),
)
BY_ID = {one.id: one for one in BENCHMARKS}


def chosen(only: str | None) -> list[Benchmark]:
    """The benchmarks named in ``B1,B4``, in the suite's order; all for None.

    Raises TautoError for an id that is not there.
    """
    if only is None:
        return list(BENCHMARKS)
    wanted = [word.strip().upper() for word in only.replace(" ", ",").split(",") if word.strip()]
    for word in wanted:
        if word not in BY_ID:
            raise TautoError(f"there is no benchmark {word!r}", f"Choose from {', '.join(BY_ID)}")
    if not wanted:
        raise TautoError(f"--only {only!r} names no benchmark", f"Choose from {', '.join(BY_ID)}")
    return [one for one in BENCHMARKS if one.id in wanted]


def run(benchmarks: Sequence[Benchmark], context: Context, close_runs: Callable[[], None]) -> bool:
    """Measure one benchmark after the other; False when it was interrupted.

    `close_runs` ends the executor's helper process, so that its CPU time is known as ours.
    """
    for number, one in enumerate(benchmarks, start=1):
        context.say(f"{one.id} ({number} of {len(benchmarks)}): {one.what}; target {one.target_text}")
        context.results.begin(one.id)
        watch = LoadWatch(context.clock.monotonic())
        begun = context.clock.monotonic()
        interrupted = False
        entries: list[Entry] = []
        try:
            entries = one.measure(context)
        except TautoError as error:
            entries = [context.add(not_measured(one.id, one.what, "", one.target, str(error)))]
        except (Interrupted, KeyboardInterrupt):
            interrupted = True
        close_runs()
        if interrupted:
            context.results.write()
            return False
        load = watch.end(context.clock.monotonic())
        said = sentence(load)
        finished = [replace(entry, load=load, note=_joined(entry, said)) for entry in entries]
        context.results.replace(one.id, finished)
        seconds = context.clock.monotonic() - begun
        context.say(f"{one.id}: {_verdict(finished[0])} in {seconds:.0f} s" + (f"; {said}" if said else ""))
    return True


def _joined(entry: Entry, said: str) -> str:
    if "/" in entry.id or not said:
        return entry.note
    return f"{entry.note}; {said}" if entry.note else said


def _verdict(entry: Entry) -> str:
    return {True: "met", False: "NOT met", None: "not judged"}[entry.met]

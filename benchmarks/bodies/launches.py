"""B1, B2, B6, B7, B14, B15: what a launch, a barrier, a short loop, too many members and waiting cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from benchmarks.context import Context
from benchmarks.measurement import Measurement
from benchmarks.rounds import engineering
from benchmarks.rows import all_met, joined
from tautochrone.measuring.configuration import Configuration
from tautochrone.results.row import Row, pair_rows, seconds_of
from tautochrone.verdicts import compare

OPENMP = ("libgomp", "libomp")
WAITS = ("default", "active")
_TIMES = ("--warmup-seconds", "0.03", "--min-seconds", "0.06")
_ROUNDS = 41
_SECONDS = 40.0  # more would not make these intervals narrower


def program(
    context: Context,
    name: str,
    words: str,
    *more: str,
    environment: Mapping[str, str] | None = None,
    **settings: object,
) -> Configuration:
    """A run of one of the suite's programs: ``openmp launch``, ``round-trip --pause``."""
    runtime, *works = words.split()
    command = [context.program(runtime), *works, "--cpus", context.cpus_text, *more]
    return Configuration(name, command, environment or {}, {"program": words, **settings})


def openmp_waits(
    context: Context, work: str, *more: str, waits: Sequence[str] = WAITS, **settings: object
) -> list[Configuration]:
    """A work with each OpenMP library that is here, in each of these waits."""
    return [
        program(
            context,
            state.peer.name if wait == "default" else f"{state.peer.name}, {wait} wait",
            f"openmp {work}",
            *(*more, "--wait", wait),
            environment=state.environment,
            library=state.peer.name,
            wait=wait,
            **settings,
        )
        for state in context.present(OPENMP)
        for wait in waits
    ]


def _round_trips(context: Context) -> list[Configuration]:
    """A cache line from core to core and back, in two ways of waiting for it."""
    return [
        program(context, "round trip", "round-trip", *_TIMES, pause=False),
        program(context, "round trip with PAUSE", "round-trip --pause", *_TIMES, pause=True),
    ]


def against_fastest(m: Measurement, work: str, contests: Mapping[str, str], peer: str = "{name}") -> None:
    """B1, B2, B15: a work of ours against the fastest of OpenMP's, or of a cache line's round trips."""
    context = m.context
    name = "tautochrone, static_" if work == "launch" else "tautochrone's barrier"
    ours = program(context, name, f"tautochrone {work}", *_TIMES, library="tautochrone", wait="default")
    m.missing = context.without(OPENMP) if "openmp" in contests.values() else ""
    for (cell, against), seconds in m.parts(list(contests.items())):
        openmp = against == "openmp"
        rivals = openmp_waits(context, work, *_TIMES) if openmp else _round_trips(context)
        if not rivals:
            m.row(cell, None, "OpenMP", note=context.absent())
            continue
        half = min(_SECONDS, seconds) / 2
        with m.bench(cell) as bench:
            best = bench.fastest(rivals, half) or rivals[0]
            bench.run([ours, best], _ROUNDS, half)
            pairs = bench.pairs(ours, best)
            if against == "one way":  # a round trip is two of them
                pairs = [(mine, theirs / 2) for mine, theirs in pairs]
            note = joined(bench.times(ours, best), "" if cell else m.missing)
            m.row(cell, compare(pairs), peer.format(name=best.name), note=note)


def too_short(m: Measurement, floats: int) -> None:
    """B6."""
    size = (*_TIMES, "--floats", str(floats))
    ours = program(m.context, "parallel_for", "tautochrone short-loop", *size, floats=floats)
    plain = program(m.context, "plain loop", "tautochrone short-loop --plain", *size, floats=floats)
    with m.bench() as bench:
        bench.run([ours, plain], _ROUNDS, min(_SECONDS, m.budget.left))
        differences = [1e9 * (mine - theirs) for mine, theirs in bench.pairs(ours, plain)]
        m.values("", differences, plain.name, bench.times(ours, plain))


def oversubscribed(m: Measurement, loops: int, floats: Sequence[int]) -> None:
    """B7."""
    idle: list[float] = []
    for size, seconds in m.parts(floats):
        cell = f"{size:,} floats"
        words = ("--loops", str(loops), "--floats", str(size))
        ours = program(
            m.context, f"8 members, {cell}", "tautochrone small-loops --members 8", *words, floats=size
        )
        plain = program(m.context, f"serial, {cell}", "tautochrone small-loops --plain", *words, floats=size)
        with m.bench(str(size)) as bench:
            rows = bench.run([ours, plain], 15, min(_SECONDS, seconds))
            idle += [_idle_share(row) for row in rows if row.config_id == ours.config_id]
            of_loop = [seconds_of(row) / loops for row in rows if row.config_id == plain.config_id]
            note = f"{1e6 * median(of_loop):.2g} µs a loop" if of_loop else bench.errors()
            m.row(cell, compare(bench.pairs(ours, plain)), "one thread", note=note)
    own = m.worst(m.rows)
    if idle:
        quiet = m.values("idle", idle, "nothing")
        note = f"{own.note}; idle use {quiet.ratio:.2g} CPUs"
        m.own = replace(own, met=all_met((own.met, quiet.met)), note=note)


def _idle_share(row: Row) -> float:
    return float(row.detail["idle_cpu_seconds"]) / float(row.detail["idle_window_seconds"])


# -- B14: waiting --

POLICIES = {"default": "balanced", "active": "active", "passive": "passive"}
# Microseconds of a pause, loops, and the part of the time that is left. The last one is judged.
GAPS = {
    "no pause": (0, 2000, 0.05),
    "10 µs": (10, 1000, 0.05),
    "0.1 ms": (100, 500, 0.1),
    "1 ms": (1000, 100, 0.15),
    "100 ms": (100_000, 8, 0.4),
    "10 ms": (10_000, 60, 1.0),
}
_FLOATS = 200_000


def _gap(
    context: Context, gap: str, name: str, runtime: str, wait: str = "default", **environment: str
) -> Configuration:
    microseconds, loops, _ = GAPS[gap]
    words = ["--gap-microseconds", str(microseconds), "--loops", str(loops)]
    words += ["--floats", str(_FLOATS), "--wait", wait]
    return program(
        context, f"{name}, {gap}", f"{runtime} gaps", *words,
        environment=environment, label=name, gap=gap, wait=wait,
    )  # fmt: skip


def waiting(m: Measurement) -> None:
    """B14: CPU time against the larger of libgomp and oneTBB, latency against the better of the two."""
    context, notes = m.context, []
    for gap, (_, _, share) in GAPS.items():
        ours = [_gap(context, gap, f"ours, {POLICIES[wait]}", "tautochrone", wait) for wait in POLICIES]
        peers = [
            _gap(context, gap, state.peer.name, "openmp", **state.environment)
            for state in context.present(OPENMP)
        ]
        peers += [_gap(context, gap, "oneTBB", "tbb") for _ in context.present(["tbb"])]
        with m.bench(gap) as bench:
            rows = bench.run([*ours, *peers], 15, m.budget.left * share)
        notes.append(f"{gap}: " + ", ".join(_costs(rows, made) for made in (*ours, *peers)))
    rivals = [peer for peer in peers if peer.settings["label"] != "libomp" and _figures(rows, peer, _cpu)]
    if not rivals:
        m.row("", None, note=context.absent())
        return
    wasteful = max(rivals, key=lambda peer: median(_figures(rows, peer, _cpu)))
    quick = min(rivals, key=lambda peer: median(_figures(rows, peer, seconds_of)))
    pairs = pair_rows(rows, ours[0].config_id, wasteful.config_id, _cpu)
    cpu = m.row("cpu", compare(pairs), wasteful.name)
    pairs = pair_rows(rows, ours[0].config_id, quick.config_id)
    latency = m.row("latency", compare(pairs), quick.name)
    m.own = replace(
        cpu, id=m.benchmark.id, what=m.benchmark.what, cell="", met=all_met((cpu.met, latency.met)),
        note="; ".join(notes),
    )  # fmt: skip


def _cpu(row: Row) -> float:
    return float(row.detail["cpu_seconds_per_loop"])


def _figures(rows: Sequence[Row], made: Configuration, figure: Callable[[Row], float]) -> list[float]:
    return [figure(row) for row in rows if row.config_id == made.config_id]


def _costs(rows: Sequence[Row], made: Configuration) -> str:
    """``libgomp 1.2 µs and 3.4 µs of CPU``."""
    latencies = _figures(rows, made, seconds_of)
    if not latencies:
        return f"{made.settings['label']} not measured"
    cpu = median(_figures(rows, made, _cpu))
    return f"{made.settings['label']} {engineering(median(latencies))} and {engineering(cpu)} of CPU"

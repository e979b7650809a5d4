"""B14: what waiting costs, in CPU time and in the latency of the next loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from benchmarks.context import Bench, Context
from benchmarks.entry import Entry, not_measured, of_comparison
from benchmarks.micro import engineering, program_configuration
from tautochrone.configuration import Configuration
from tautochrone.row import Row
from tautochrone.statistics import Comparison, compare

GAPS = {"hot": 0, "warm": 100, "cold": 10_000}  # microseconds
POLICIES = ("default", "active", "passive")
CPU_TARGET, LATENCY_TARGET = 0.3, 1.0
_LOOPS = {"hot": 2000, "warm": 500, "cold": 60}
_ROUNDS = 15


def _gap(context: Context, name: str, program: str, gap: str, wait: str, **more: object) -> Configuration:
    words = ["--gap-microseconds", str(GAPS[gap]), "--loops", str(_LOOPS[gap]), "--wait", wait]
    return program_configuration(
        context, f"{name}, {gap}", f"gap-{program}", *words, label=name, gap=gap, wait=wait, **more
    )


def _peers(context: Context, gap: str) -> list[Configuration]:
    """The peers as they come: libgomp, libomp and oneTBB with their default waits."""
    found = [
        _gap(context, library, "openmp", gap, "default", environment=context.peer(library).environment)
        for library in ("libgomp", "libomp")
        if context.peer(library).present
    ]
    return found + ([_gap(context, "oneTBB", "tbb", gap, "default")] if context.peer("tbb").present else [])


def waiting(context: Context) -> list[Entry]:
    """B14."""
    budget = context.budget()
    what = "pauses of 10 ms: CPU seconds of balanced, and the latency of the next loop"
    entries: list[Entry] = []
    notes: list[str] = []
    for place, gap in enumerate(GAPS):
        ours = {
            policy: _gap(
                context, f"ours, {'balanced' if policy == 'default' else policy}", "tautochrone", gap, policy
            )
            for policy in POLICIES
        }
        peers = _peers(context, gap)
        with context.bench(f"B14/{gap}") as bench:
            # The cold runs take a second each, the others a tenth of it.
            seconds = budget.left * (0.1, 0.15, 1.0)[place]
            rows = bench.run([*ours.values(), *peers], _ROUNDS, seconds)
            notes.append(f"{gap}: " + ", ".join(_costs(rows, one) for one in (*ours.values(), *peers)))
            if gap == "cold":
                entries = _judged(bench, rows, ours["default"], peers)
    if not entries:
        return [context.add(not_measured("B14", what, "", CPU_TARGET, "; ".join(context.absent())))]
    entries = [context.add(one) for one in entries]
    verdicts = [one.met for one in entries]
    met = False if False in verdicts else None if None in verdicts else True
    own = replace(entries[0], id="B14", what=what, met=met, cell="", note="; ".join(notes))
    return [context.add(own), *entries]


def _judged(
    bench: Bench, rows: Sequence[Row], ours: Configuration, peers: Sequence[Configuration]
) -> list[Entry]:
    """CPU time against the larger of libgomp and oneTBB, latency against the better of the two."""
    rivals = [one for one in peers if not one.name.startswith("libomp")]
    known = [one for one in rivals if _median(rows, one, _cpu) is not None]
    if not known:
        return []
    wasteful = max(known, key=lambda one: _median(rows, one, _cpu) or 0.0)
    quick = min(known, key=lambda one: _median(rows, one, _latency) or 0.0)
    return [
        of_comparison(
            "B14/cpu", "CPU time of balanced, pauses of 10 ms", wasteful.name, _paired(rows, ours, wasteful),
            CPU_TARGET, cell="cpu",
        ),
        of_comparison(
            "B14/latency", "the next loop after 10 ms", quick.name, compare(bench.pairs(ours, quick)),
            LATENCY_TARGET, cell="latency",
        ),
    ]  # fmt: skip


def _cpu(row: Row) -> float:
    return float(row["detail"]["cpu_seconds_per_loop"])


def _latency(row: Row) -> float:
    return float(row["seconds"])


def _median(rows: Sequence[Row], one: Configuration, figure: object) -> float | None:
    assert callable(figure)
    found = [figure(row) for row in rows if row["config_id"] == one.config_id]
    return median(found) if found else None


def _paired(rows: Sequence[Row], ours: Configuration, peer: Configuration) -> Comparison:
    """The ratio of CPU times, paired by round."""
    by_round: dict[int, dict[str, float]] = {}
    for row in rows:
        by_round.setdefault(row["round"], {})[row["config_id"]] = _cpu(row)
    return compare(
        [
            (found[ours.config_id], found[peer.config_id])
            for _, found in sorted(by_round.items())
            if ours.config_id in found and peer.config_id in found
        ]
    )


def _costs(rows: Sequence[Row], one: Configuration) -> str:
    """``libgomp 1.2 µs and 3.4 µs of CPU``."""
    latency, cpu = _median(rows, one, _latency), _median(rows, one, _cpu)
    if latency is None or cpu is None:
        return f"{one.settings['label']} not measured"
    return f"{one.settings['label']} {engineering(latency)} and {engineering(cpu)} of CPU"

"""Tasks of a microsecond, run here for a moment: what M6 asks for."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone import text
from tautochrone.studies import short_runs

_BYTES = 920  # 5 cycles a byte at 4.6 GHz: a microsecond
_LONGEST_SECONDS = 2e-6
_TURNS, _MEMBERS = 11, 2
_OTHERWISE = 1  # turns that may end the other way: by chance alone no more do in 1.2 % of all cases
_RUNTIMES = ("serial", "qt")


def times_of(runtime: str, tasks: int) -> tuple[float, float] | None:
    """Seconds of a repetition and of a task; None where the runner is not here."""
    count = 1 if runtime == "serial" else _MEMBERS
    words = ["--tasks", str(tasks), "--bytes", str(_BYTES), *short_runs.on_cpus(count)]
    words += ["--warmup-seconds", "0.01", "--min-seconds", "0.03"]
    return short_runs.result_of(
        f"tauto-mapreduce-{runtime}", words, lambda row: (float(row["seconds"]), float(row["task_seconds"]))
    )


def of_a_microsecond(tasks: int) -> tuple[str, bool | None] | None:
    """How many times as long as the serial loop Qt takes, and whether it is longer.

    Open where other programs make it longer in several turns and shorter in several, or a task is too long.
    None where one of the runners is not here.
    """
    turns: list[tuple[float, float]] = []
    task = 0.0
    for _ in range(_TURNS):
        found = [times_of(runtime, tasks) for runtime in _RUNTIMES]
        if found[0] is None or found[1] is None:
            return None
        task = found[0][1]
        turns.append((found[0][0], found[1][0]))
    ours = (
        f"run here, {tasks} tasks of {text.seconds(task)}: Qt on {_MEMBERS} threads takes {_between(turns)}"
    )
    slower = sum(qt > serial for serial, qt in turns)
    resolved = min(slower, _TURNS - slower) <= _OTHERWISE and task <= _LONGEST_SECONDS
    return ours, slower > _OTHERWISE if resolved else None


def _between(turns: Sequence[tuple[float, float]]) -> str:
    times = sorted(qt / serial for serial, qt in turns)
    return f"{times[0]:.2g} to {times[-1]:.2g} times as long as the serial loop ({len(turns)} turns)"

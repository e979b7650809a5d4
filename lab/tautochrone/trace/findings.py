"""What the tracks of a program's threads show: imbalance, migrations, and one sentence of advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tautochrone import text
from tautochrone.trace.threads import ThreadTrack

LEAST_SHARE = 0.02
"""Threads with less than this share of the busiest one's time do no work that could be shared."""

UNBALANCED = 1.1
ALWAYS_BUSY = 0.9  # the share of the program's time that a thread runs
CROWDED = 0.25  # the share of its time that a thread waits for a CPU
MOSTLY_IDLE = 0.3  # of one CPU: a program that worked less was waiting for something else


@dataclass(frozen=True)
class Findings:
    """``imbalance`` is the busiest thread's time over the mean of the threads that work; None without any."""

    imbalance: float | None
    workers: tuple[ThreadTrack, ...]
    unbalanced: ThreadTrack | None
    migrations: int
    migrations_per_second: float | None
    advice: str


def find(tracks: Sequence[ThreadTrack], seconds: float, migrations: int | None, cpus: int) -> Findings:
    """Judge the tracks of a program that ran for `seconds` on `cpus` CPUs.

    `migrations` is the kernel's count; None: the samples are counted, which miss some.
    """
    most = max((track.run_seconds for track in tracks), default=0.0)
    workers = tuple(track for track in tracks if most > 0.0 and track.run_seconds >= LEAST_SHARE * most)
    moved = migrations if migrations is not None else sum(track.moves for track in tracks)
    imbalance, odd = None, None
    if workers:
        mean = sum(track.run_seconds for track in workers) / len(workers)
        imbalance = most / mean
        if imbalance >= UNBALANCED:
            odd = _odd_one(workers)
    return Findings(
        imbalance=imbalance,
        workers=workers,
        unbalanced=odd,
        migrations=moved,
        migrations_per_second=moved / seconds if seconds > 0 else None,
        advice=_advice(workers, imbalance, odd, cpus, seconds),
    )


def name_of(track: ThreadTrack) -> str:
    """``thread 4711 (solver)``."""
    return f"thread {track.tid} ({track.name})" if track.name else f"thread {track.tid}"


def _odd_one(workers: Sequence[ThreadTrack]) -> ThreadTrack:
    """The thread farthest from the usual amount of work; of two threads the busier one."""
    usual = median(track.run_seconds for track in workers)
    # Rounded: of two threads both are equally far from the middle, up to the last bits.
    return max(
        workers, key=lambda track: (round(abs(track.run_seconds - usual) / usual, 9), track.run_seconds)
    )


def _advice(
    workers: Sequence[ThreadTrack],
    imbalance: float | None,
    odd: ThreadTrack | None,
    cpus: int,
    seconds: float,
) -> str:
    if imbalance is None:
        return "No thread worked for long enough to be judged: trace a longer run."
    busy = sum(track.run_seconds + (track.wait_seconds or 0.0) for track in workers)
    if busy < MOSTLY_IDLE * seconds:
        worked = f"It worked in {text.percent(busy / seconds)} of {text.seconds(seconds)}"
        return f"{worked}, and slept or waited for files in the rest: threads cannot make that shorter."
    if len(workers) == 1:
        alone = text.sentence(f"{name_of(workers[0])} did all the work alone").rstrip(".")
        if cpus < 2:
            return f"{alone}, and there is one CPU: nothing can be shared."
        return f"{alone}, and the program may use {cpus} CPUs: share its work among threads."
    many = text.count(len(workers), "thread")
    if odd is not None:
        return _about(odd, workers, imbalance, many)
    waiting = sum(track.wait_seconds or 0.0 for track in workers)
    running = sum(track.run_seconds for track in workers)
    if waiting > CROWDED * (waiting + running):
        share = text.percent(waiting / (waiting + running))
        crowded = (
            f"The {many} are balanced (imbalance {imbalance:.2f}) but wait for a CPU in {share} of their time"
        )
        if len(workers) <= cpus:
            return (
                f"{crowded}: other programs have the CPUs, which are enough for these. Stop those, or wait."
            )
        return f"{crowded}: use {text.count(cpus, 'thread')}, as many as there are CPUs."
    balanced = f"The {many} are balanced (imbalance {imbalance:.2f})"
    if all(track.run_seconds >= ALWAYS_BUSY * seconds for track in workers):
        return (
            f"{balanced}, or spin while they wait, which looks the same: if this is an OpenMP program, "
            "trace it again with OMP_WAIT_POLICY=passive."
        )
    return f"{balanced}: nothing to gain by sharing the work anew."


def _about(odd: ThreadTrack, workers: Sequence[ThreadTrack], imbalance: float, many: str) -> str:
    mean = sum(track.run_seconds for track in workers) / len(workers)
    figures = (
        f"{name_of(odd)} worked {text.seconds(odd.run_seconds)}, where the mean of {many} is "
        f"{text.seconds(mean)} (imbalance {imbalance:.2f})"
    )
    if odd.run_seconds > mean:
        advice = "so the others wait for it: give it less, by splitting the data and not the functions"
    else:
        advice = "so it waits for the others: give it more, or let threads take chunks as they get free"
    return text.sentence(f"{figures}, {advice}")

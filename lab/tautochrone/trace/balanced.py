"""What ``tauto balance`` did for a program that was traced, and how far each of its threads got."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tautochrone import text
from tautochrone.schemas.of_executables import Balance
from tautochrone.trace.threads import ThreadTrack, Traced

_OWN = ("tauto-balance", "tauto-guard")


def with_balance(traced: Traced, controller: int, answer: Path) -> Traced:
    """The trace without the controller's own processes, and with its answer; without one if it was killed."""
    threads = traced.threads
    tracks = [one for one in threads.tracks if one.tid != controller and one.name not in _OWN]
    try:
        balance = msgspec.json.decode(answer.read_bytes(), type=Balance)
    except (OSError, msgspec.MsgspecError):
        balance = None
    return dataclasses.replace(traced, threads=dataclasses.replace(threads, tracks=tracks), balance=balance)


def paces(balance: Balance) -> dict[int, float]:
    """Work a second of CPU time on each CPU, the fastest having 1."""
    return {one.cpu: one.work_per_cpu_second for one in balance.cpus}


def progress(track: ThreadTrack, pace: Mapping[int, float]) -> list[tuple[float, float]]:
    """(seconds since the start, work that the thread has done) at each sample; in seconds at pace 1."""
    done = 0.0
    points = []
    for piece in track.slices:
        done += piece.run_seconds * pace.get(piece.cpu, 1.0)
        points.append((piece.end, done))
    return points


def in_words(balance: Balance) -> str:
    """What it did and what that brought."""
    did = f"{text.count(balance.moves, 'change')} of a CPU in {text.seconds(balance.seconds)}"
    if balance.time_over_linux_alone is None:
        return f"{did}; {balance.left_alone_because or 'not compared with Linux alone'}"
    low, high = balance.interval
    spread = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    pairs = text.count(balance.pairs_of_windows, "pair")
    return f"{did}; time over Linux alone {balance.time_over_linux_alone:.2f}{spread}, {pairs} of windows"

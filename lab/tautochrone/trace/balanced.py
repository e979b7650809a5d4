"""What ``tauto balance`` did for a program that was traced, and how far each of its threads got."""

from __future__ import annotations

import dataclasses
import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

import msgspec

from tautochrone import text
from tautochrone.schemas.of_executables import Balance
from tautochrone.trace.threads import ThreadTrack, Traced

_OWN = ("tauto-balance", "tauto-guard")
_MOST_BYTES = 2**20


class Answer:
    """A pipe into which ``tauto balance`` writes its answer: whoever is killed leaves no file behind."""

    def __init__(self) -> None:
        self._from, self._into = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        with suppress(OSError):  # where it may not hold so much, it holds the answer of a usual machine
            fcntl.fcntl(self._into, fcntl.F_SETPIPE_SZ, _MOST_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of_error: object) -> None:
        os.close(self._from)
        os.close(self._into)

    @property
    def path(self) -> str:
        """The name under which another process of this user opens it."""
        return f"/proc/{os.getpid()}/fd/{self._into}"

    def read(self) -> bytes:
        """What was written until now."""
        try:
            return os.read(self._from, _MOST_BYTES)
        except BlockingIOError:
            return b""


def with_balance(traced: Traced, controller: int, answer: bytes) -> Traced:
    """The trace without the controller's own processes, and with its answer; without one if it was killed."""
    threads = traced.threads
    tracks = [one for one in threads.tracks if one.tid != controller and one.name not in _OWN]
    try:
        balance = msgspec.json.decode(answer, type=Balance)
    except msgspec.MsgspecError:
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
    pairs = f"{text.count(balance.pairs_of_windows, 'pair')} of windows"
    if low is None or high is None:
        return f"{did}; what that brought is not known: {pairs} with Linux alone cannot tell"
    basis = ", estimated by CPU time" if balance.estimated else ""
    over = f"{balance.time_over_linux_alone:.2f} ({low:.2f} to {high:.2f})"
    return f"{did}; time over Linux alone {over}, {pairs}{basis}"

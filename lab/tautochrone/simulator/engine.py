"""Runs ``tauto-simulate`` for many requests and reads its rows."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TypedDict

import msgspec

from tautochrone.children import end_with_parent
from tautochrone.errors import TautoError
from tautochrone.jobs import spread, work
from tautochrone.machine import runners
from tautochrone.simulator.machines import Machine

ONE_RUN_LIMIT_SECONDS = 600.0
_LOOK_SECONDS = 0.2  # whether others that do a part of the same have failed
_SIMULATOR = "tauto-simulate"

Request = Mapping[str, object]
"""One run as JSON. ``requests.py`` has a type for each study's; the simulator refuses unknown fields."""

Slice = tuple[int, str, int, int, int]
"""Member, activity, begin and end in nanoseconds, milliwatts; a list in JSON."""


class Energy(TypedDict, total=False):
    """Joules of one iteration (loop), repetition (mapreduce) or run (power); ``status`` is "modelled"."""

    status: str
    joules: float
    common_joules: float
    platform_common_joules: float


class MemberAccount(TypedDict):
    """Time and energy of one member or core."""

    working_nanoseconds: int
    waiting_nanoseconds: int
    idle_nanoseconds: int
    picojoules: int


class Accounts(TypedDict):
    """Time and energy of the whole run, on request (``accounts``)."""

    end_nanoseconds: int
    picojoules: int
    rest_picojoules: int
    members: list[MemberAccount]


class Row(TypedDict, total=False):
    """What the laboratory reads of a row: the first five fields are in all, the others by study.

    ``simulator/rows.cpp`` writes it.
    """

    schema: str
    source: str
    study: str
    machine: str
    seconds: float
    runtime: str
    library: str
    schedule: str
    chunk: int | None
    placement: str
    kernel: str
    cpus: list[int]
    size: int
    threads: int
    width: int
    cores: dict[str, int]
    fork_join_seconds: float
    memory_bytes: float
    miss_ratio: float | None
    waiting_share: float
    energy: Energy
    rows: list[int]
    times: dict[str, float]
    timeline: list[Slice]
    accounts: Accounts
    tasks: int
    bytes: float
    alone_seconds: float
    bound_seconds: float
    task_seconds: float
    cpu_load: float
    mean_hertz: float
    sleeps: int
    repetitions: int
    thread_seconds: list[float]
    migrations: int
    operation: str
    ranks: int
    words: int
    bytes_moved: float
    particles: int
    active: int
    scheme: str
    engine: str
    serial_seconds: float
    exchange_seconds: float
    exchange_latency_seconds: float


def simulate(machine: Machine, requests: Sequence[Request]) -> list[Row]:
    """A row for each request, in order. Raises TautoError if the simulator refuses a request."""
    return simulate_many([(machine, requests)])[0]


def simulate_many(batches: Iterable[tuple[Machine, Sequence[Request]]]) -> list[list[Row]]:
    """The same for several machines, spread over what jobs are spread over.

    Shows how far it is where that takes more than a second. TautoError too for a run that takes longer than
    ``ONE_RUN_LIMIT_SECONDS``.
    """
    asked: list[str] = []
    lengths: list[int] = []
    for machine, requests in batches:
        on = msgspec.json.encode(machine.described()).decode()
        asked.extend(f'{{"machine":{on},"request":{json.dumps(request)}}}' for request in requests)
        lengths.append(len(requests))
    answers = dict(spread.answers(work.SIMULATE, asked, "simulating"))
    rows = (json.loads(answers[number]) for number in range(len(asked)))
    return [list(itertools.islice(rows, length)) for length in lengths]


# -- as a kind of jobs --

TOGETHER = True


class _Asked(msgspec.Struct):
    machine: msgspec.Raw
    request: msgspec.Raw


def files() -> list[Path]:
    return [runners.find(_SIMULATOR)]


def do(asked: Sequence[str], stopped: Callable[[], bool]) -> Iterator[str]:
    """The rows of one simulator, which ends with this process, and when it is stopped."""
    count = 0
    with tempfile.TemporaryFile() as requests, tempfile.TemporaryFile() as said:
        requests.writelines(_lines_for(asked))
        requests.seek(0)
        simulator = subprocess.Popen(
            [str(runners.find(_SIMULATOR))],
            stdin=requests,
            stdout=subprocess.PIPE,
            stderr=said,
            preexec_fn=partial(end_with_parent, signal.SIGKILL),
        )
        try:
            for line in _lines_of(simulator, stopped):
                count += 1
                yield line.decode()
            code = simulator.wait() if not stopped() else 0
        finally:
            simulator.kill()
            simulator.wait()
        said.seek(0)
        messages = said.read().decode(errors="replace").strip().splitlines()
    if code != 0:
        last = (messages or [f"exit code {code}"])[-1]
        raise TautoError.of(last.removeprefix("tauto-simulate: error: "), "the simulator refused: ")
    if count != len(asked) and not stopped():
        raise TautoError(f"the simulator gave {count} rows for {len(asked)} runs", "Build it again (make)")


def _lines_for(asked: Sequence[str]) -> Iterator[bytes]:
    """What the simulator reads: a machine, and the runs on it."""
    machine = b""
    for text in asked:
        one = msgspec.json.decode(text, type=_Asked)
        if bytes(one.machine) != machine:
            machine = bytes(one.machine)
            yield b'{"machine":' + machine + b"}\n"
        yield bytes(one.request) + b"\n"


def _lines_of(simulator: subprocess.Popen[bytes], stopped: Callable[[], bool]) -> Iterator[bytes]:
    """The lines of its output. TautoError where the next one takes too long."""
    assert simulator.stdout is not None
    unread = b""
    with simulator.stdout as output:
        while not stopped():
            if not _is_heard(output, stopped):
                raise TautoError(
                    f"the simulation of one run did not end within {ONE_RUN_LIMIT_SECONDS:g} s",
                    "Simulate a smaller machine, or fewer repetitions of less work (--set)",
                )
            if stopped():
                return
            got = os.read(output.fileno(), 1 << 16)
            if not got:
                return
            *whole, unread = (unread + got).split(b"\n")
            yield from whole


def _is_heard(output: IO[bytes], stopped: Callable[[], bool]) -> bool:
    """Wait for output, or for a stop; False where neither came in time."""
    end = time.monotonic() + ONE_RUN_LIMIT_SECONDS
    while not stopped():
        left = end - time.monotonic()
        if select.select([output], [], [], min(_LOOK_SECONDS, max(0.0, left)))[0]:
            return True
        if left <= 0:
            return False
    return True

"""Runs ``tauto-simulate`` once for many requests and reads its rows."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypedDict

import msgspec

from tautochrone.children import end_with_parent
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.measuring.progress import progress_for
from tautochrone.simulator.machines import Machine

ONE_RUN_LIMIT_SECONDS = 600.0

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


def simulate_many(
    batches: Iterable[tuple[Machine, Sequence[Request]]], limit_seconds: float = ONE_RUN_LIMIT_SECONDS
) -> list[list[Row]]:
    """The same for several machines, in one process, which ends with this one.

    Shows how far it is where that takes more than a second. TautoError too for a run that takes longer than
    `limit_seconds`.
    """
    lines: list[str] = []
    lengths: list[int] = []
    for machine, requests in batches:
        lines.append(msgspec.json.encode({"machine": machine.described()}).decode())
        lines.extend(json.dumps(request) for request in requests)
        lengths.append(len(requests))
    rows = iter(_answers("\n".join(lines) + "\n", sum(lengths), limit_seconds))
    return [list(itertools.islice(rows, length)) for length in lengths]


def _answers(requests: str, count: int, limit_seconds: float) -> list[Row]:
    progress, begun = progress_for("simulating"), time.monotonic()
    rows: list[Row] = []
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
        asked.write(requests.encode())
        asked.seek(0)
        simulator = subprocess.Popen(
            [str(runners.find("tauto-simulate"))],
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=said,
            preexec_fn=partial(end_with_parent, signal.SIGKILL),
        )
        try:
            for line in _lines_of(simulator, limit_seconds):
                rows.append(json.loads(line))
                gone = time.monotonic() - begun
                left = gone / len(rows) * (count - len(rows))
                progress.update(len(rows), count, gone, left, "")
            code = simulator.wait()
        finally:
            progress.finish()
            simulator.kill()
            simulator.wait()
        said.seek(0)
        messages = said.read().decode(errors="replace").strip().splitlines()
    if code != 0:
        last = (messages or [f"exit code {code}"])[-1]
        raise TautoError.of(last.removeprefix("tauto-simulate: error: "), "the simulator refused: ")
    return rows


def _lines_of(simulator: subprocess.Popen[bytes], limit_seconds: float) -> Iterator[bytes]:
    """The lines of its output. TautoError where the next one takes too long."""
    assert simulator.stdout is not None
    unread = b""
    with simulator.stdout as output:
        while True:
            if not select.select([output], [], [], limit_seconds)[0]:
                raise TautoError(
                    f"the simulation of one run did not end within {limit_seconds:g} s",
                    "Simulate a smaller machine, or fewer repetitions of less work (--set)",
                )
            got = os.read(output.fileno(), 1 << 16)
            if not got:
                return
            *whole, unread = (unread + got).split(b"\n")
            yield from whole

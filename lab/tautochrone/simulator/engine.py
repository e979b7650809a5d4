"""Runs ``tauto-simulate`` once for many requests and reads its rows."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import msgspec

from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.simulator.machines import Machine

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
    """The same for several machines, in one process."""
    lines: list[str] = []
    lengths: list[int] = []
    for machine, requests in batches:
        lines.append(msgspec.json.encode({"machine": machine.described()}).decode())
        lines.extend(json.dumps(request) for request in requests)
        lengths.append(len(requests))
    finished = subprocess.run(
        [str(runners.find("tauto-simulate"))],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        last = (finished.stderr.strip().splitlines() or [f"exit code {finished.returncode}"])[-1]
        raise TautoError.of(last.removeprefix("tauto-simulate: error: "), "the simulator refused: ")
    rows = (json.loads(line) for line in finished.stdout.splitlines())
    return [list(itertools.islice(rows, length)) for length in lengths]

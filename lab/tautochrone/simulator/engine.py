"""Starts ``tauto-simulate`` once for many requests, and reads its rows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tautochrone import runners
from tautochrone.errors import TautoError
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.resolving import resolved

Row = dict[str, Any]
Request = Mapping[str, Any]


def simulate(machine: Machine, requests: Sequence[Request]) -> list[Row]:
    """A row for each request, in their order. Raises TautoError with what the simulator refused."""
    return simulate_many([(machine, requests)])[0]


def simulate_many(batches: Iterable[tuple[Machine, Sequence[Request]]]) -> list[list[Row]]:
    """The same on several machines, in one process."""
    lines: list[str] = []
    lengths: list[int] = []
    for machine, requests in batches:
        lines.append(json.dumps({"machine": resolved(machine)}))
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
        said = (finished.stderr.strip().splitlines() or [f"exit code {finished.returncode}"])[-1]
        message = said.removeprefix("tauto-simulate: error: ")
        what, _, remedy = message.partition("; ")
        raise TautoError(f"the simulator refused: {what}", remedy[:1].upper() + remedy[1:])
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    found: list[list[Row]] = []
    for length in lengths:
        found.append(rows[:length])
        rows = rows[length:]
    return found

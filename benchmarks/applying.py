"""B26: what `tauto run` adds to a command: at its start, and while it runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.context import Context
from benchmarks.entry import Entry, farthest, not_measured, of_comparison, of_interval
from benchmarks.metering import RUN_TARGET, WORK, seconds_of_one_pass
from tautochrone.configuration import Configuration
from tautochrone.runners import COMMAND, find
from tautochrone.statistics import VERDICT_CONFIDENCE, compare, median_interval
from tautochrone.tune.paste import PROFILE_SCHEMA

START_TARGET_MILLISECONDS = 30.0
_START_ROUNDS = 40
_RUN_ROUNDS = 8
_LONGEST_RUN_SECONDS = 3.0


def _profile(context: Context) -> Path:
    """A profile that sets everything that can be set: variables, CPUs, priority."""
    folder = context.folder / "B26-profile"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "profile.json"
    profile = {
        "schema": PROFILE_SCHEMA,
        "environment": {"OMP_NUM_THREADS": str(len(context.cpus)), "OMP_WAIT_POLICY": "passive"},
        "cpus": list(context.cpus),
        "nice": None,
        "command": [],
        "tuned_command": [],
    }
    path.write_text(json.dumps(profile))
    return path


def starting(context: Context) -> list[Entry]:
    """B26."""
    budget = context.budget()
    under = [str(find(COMMAND)), "run", str(_profile(context)), "--"]
    alone, added = [], []
    for _ in range(_START_ROUNDS):
        alone.append(seconds_of(["/bin/true"]))
        added.append(1000.0 * (seconds_of([*under, "/bin/true"]) - alone[-1]))
    start = context.add(
        of_interval(
            "B26/start",
            "`tauto run PROFILE -- true`, what it adds",
            "true",
            median_interval(added, confidence=VERDICT_CONFIDENCE),
            START_TARGET_MILLISECONDS,
            "ms",
            cell="start",
            note=f"true alone takes {1000.0 * min(alone):.1f} ms",
        )
    )
    after = _after(context, under, budget.left)
    own = farthest("B26", "`tauto run`: what it adds at the start, and while it runs", [start, after])
    return [context.add(own), start, after]


def seconds_of(command: Sequence[str]) -> float:
    """The wall time of a command."""
    begun = time.perf_counter()
    subprocess.run(list(command), check=True)
    return time.perf_counter() - begun


def _after(context: Context, under: Sequence[str], left: float) -> Entry:
    what = "two busy threads under `tauto run`, by the program's own clock"
    seconds = max(0.3, min(_LONGEST_RUN_SECONDS, left / (2 * _RUN_ROUNDS + 1) - 0.5))
    passes = str(max(1, round(seconds / seconds_of_one_pass())))
    plain = [sys.executable, "-S", "-c", WORK, passes]
    ours = Configuration("under tauto run", [*under, *plain], {}, {"label": "applied"}, "run")
    peer = Configuration("alone", plain, {}, {"label": "plain"}, "run")
    with context.bench("B26") as bench:
        bench.run([ours, peer], _RUN_ROUNDS, left)
        pairs = bench.pairs(ours, peer)
        if not pairs:
            why = "; ".join(bench.errors())
            return context.add(not_measured("B26/run", what, peer.name, RUN_TARGET, why, cell="run"))
        found = compare(pairs)
        return context.add(of_comparison("B26/run", what, peer.name, found, RUN_TARGET, cell="run"))

"""Who waits in the loop study's runs, beside a core that is really slower."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from processes import run_to_end
from study_fakes import need_executables
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.machine.emulate import emulated
from tautochrone.studies.loop.cells import waiting_of

pytestmark = [pytest.mark.timed, pytest.mark.machine]
SIZE = 1500


def ran(runner: str, cpus: str, *words: str) -> dict[str, Any]:
    command = [runners.find(runner), "--size", str(SIZE), "--cpus", cpus, "--warmup-seconds", "0.05"]
    done = run_to_end([*command, "--min-seconds", "0.5", *words])
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_work_of_each_core_is_told_beside_a_slow_one() -> None:
    need_executables("loop-openmp", "emulate")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core cannot wait for another")
    fast, slow = sorted(os.sched_getaffinity(0))[:2]
    try:
        with emulated({slow: 4.0}):
            both = ran("loop-openmp", f"{fast},{slow}", "--schedule", "static", "--account-seconds", "1")
    except TautoError as error:
        pytest.skip(error.message)
    waiting = waiting_of(both)
    assert waiting is not None
    # Other programs take their part of either core, so only what holds beside them is asked here: nobody
    # works longer than the loops took.
    assert all(0 <= waiting.share(str(cpu)) < 1 for cpu in (fast, slow))
    assert 3 < len(waiting.first) <= waiting.loops
    for loop in waiting.first:
        assert set(loop.working) == {str(fast), str(slow)}
        assert all(seconds <= 1.05 * loop.seconds for seconds in loop.working.values())

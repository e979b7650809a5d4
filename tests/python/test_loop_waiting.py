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


def test_a_fast_core_that_spins_beside_a_slow_one_is_seen_to_wait() -> None:
    need_executables("loop-serial", "loop-openmp", "emulate")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core cannot wait for another")
    fast, slow = sorted(os.sched_getaffinity(0))[:2]
    try:
        with emulated({slow: 4.0}):
            alone = [ran("loop-serial", str(cpu))["seconds"] for cpu in (fast, slow)]
            both = ran("loop-openmp", f"{fast},{slow}", "--schedule", "static", "--account-seconds", "1")
    except TautoError as error:
        pytest.skip(error.message)
    waiting = waiting_of(both)
    assert waiting is not None
    expected = 1 - alone[0] / alone[1]
    print(f"expected {expected:.3f}, seen {waiting.share(str(fast)):.3f}")
    # On a quiet machine they agree within 0.03; another program takes its part of either core.
    assert waiting.share(str(fast)) == pytest.approx(expected, abs=0.25)
    assert waiting.share(str(slow)) < 0.25
    assert len(waiting.first) > 3
    assert all(sum(loop.working.values()) <= 2.05 * loop.seconds for loop in waiting.first)

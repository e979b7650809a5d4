"""What fails once or is killed loses nothing: some of the faults of faults.py; `make soak` makes all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from processes import run_to_end, with_lab

pytestmark = pytest.mark.timed

FAULTS = Path(__file__).with_name("faults.py")


@pytest.mark.parametrize(("work", "faults", "kills"), [("study", 6, 14), ("tune", 4, 6)])
def test_no_call_that_fails_and_no_kill_loses_a_row(work: str, faults: int, kills: int) -> None:
    words = [sys.executable, FAULTS, "--only", work, "--most", faults, "--kills", kills]
    done = run_to_end([str(word) for word in words], env=with_lab(), cwd=FAULTS.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{work}: {2 * faults} faults, 0 failures\n{work}: {kills} kills, 0 failures\n"

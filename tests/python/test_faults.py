"""What fails once or is killed loses nothing: some of the faults of faults.py; `make soak` makes all."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path

import pytest

from processes import run_to_end, stat_of, with_lab

pytestmark = pytest.mark.timed

FAULTS = Path(__file__).with_name("faults.py")


@pytest.mark.parametrize(
    ("work", "calls", "kills"), [("study", 4, 8), ("tune", 2, 4), ("export", 2, 4), ("trace", 2, 4)]
)
def test_no_call_that_fails_and_no_kill_loses_a_row(work: str, calls: int, kills: int) -> None:
    words = [sys.executable, FAULTS, "--only", work, "--most", calls, "--kills", kills]
    done = run_to_end([str(word) for word in words], env=with_lab(), cwd=FAULTS.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    faults, *_, killed = done.stdout.splitlines()
    found = re.fullmatch(rf"{work}: (\d+) faults \(.+\), 0 failures", faults)
    assert found
    assert int(found[1]) >= 2 * calls
    assert re.fullmatch(rf"{work}: {kills} kills \(.+\), 0 failures", killed)


def test_a_process_whose_name_is_no_text_is_seen() -> None:
    set_name, name = 15, Path("/proc/self/comm").read_bytes().rstrip()
    prctl = ctypes.CDLL(None).prctl
    prctl(set_name, b"\xff) (", 0, 0, 0)
    try:
        assert stat_of(os.getpid())[:2] == ["R", str(os.getppid())]
    finally:
        prctl(set_name, name, 0, 0, 0)


def test_faults_go_on_where_they_ended(tmp_path: Path) -> None:
    totals = tmp_path / "totals.json"
    words = [sys.executable, FAULTS, "--only", "study", "--kills", "2", "--keep", totals]
    for seconds, kills in (("0", 0), ("1000", 2)):
        done = run_to_end([*words, "--seconds", seconds], env=with_lab(), cwd=FAULTS.parent)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith(f"study: {kills} kills ")

"""Damaged inputs end in words: some thousands of fuzzing.py; `make soak` makes as many as wanted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from processes import run_to_end, with_lab
from runner_processes import FOLDER, needs_runners

pytestmark = [needs_runners, pytest.mark.timed]

FUZZING = Path(__file__).with_name("fuzzing.py")
COUNTS = {
    "elf": 400,
    "script": 600,
    "command": 2000,
    "machine_file": 400,
    "model": 300,
    "options": 400,
    "settings": 600,
    "trees": 100,
    "profile": 2000,
    "simulator": 1000,
}


CHANGED = ("store", "analysis", "context", "runner")


@pytest.mark.parametrize("reader", COUNTS)
def test_no_damaged_input_is_a_defect_a_hang_or_takes_a_gigabyte(reader: str) -> None:
    environment = with_lab(TAUTO_RUNNERS=str(Path(FOLDER or "").resolve()))
    words = [sys.executable, FUZZING, "--only", reader, "--inputs", COUNTS[reader]]
    done = run_to_end([str(word) for word in words], env=environment, cwd=FUZZING.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{reader}: {COUNTS[reader]} inputs, 0 findings\n"


def test_no_changed_value_of_a_store_is_a_defect() -> None:
    """In one process, which measures the stores that it changes once."""
    words = [sys.executable, FUZZING, "--inputs", "60"]
    words += [word for reader in CHANGED for word in ("--only", reader)]
    done = run_to_end(words, env=with_lab(), cwd=FUZZING.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "".join(f"{reader}: 60 inputs, 0 findings\n" for reader in CHANGED)

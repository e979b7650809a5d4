"""Formatters, linters and types; each tool is one test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CPP_FOLDERS = (
    "include",
    "runtime",
    "bindings",
    "kernels",
    "runners",
    "probe",
    "launch",
    "emulator",
    "balance",
    "simulator",
    "command",
    "timer",
    "tests",
    "benchmarks",
    "verify",
)
C_FILES = [
    ROOT / "include/tauto.h",
    *(ROOT / "tests/consumers/c").glob("*.c"),
    *(ROOT / "balance/kernel").glob("*.[ch]"),
]
CPP_FILES = sorted(
    str(path)
    for path in (*C_FILES, *(one for name in CPP_FOLDERS for one in (ROOT / name).rglob("*.[ch]pp")))
)
TOOLS = {
    "clang-format": ["clang-format", "--dry-run", "-Werror", *CPP_FILES],
    "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "ruff check": [sys.executable, "-m", "ruff", "check", "."],
    "mypy": [sys.executable, "-m", "mypy"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_finds_nothing(tool: str) -> None:
    done = subprocess.run(TOOLS[tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

"""The models of the protocols in verify/, searched with spin; `make soak` adds the longest searches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

VERIFY = Path(__file__).resolve().parents[2] / "verify"
MODELS = sorted(path.stem for path in VERIFY.glob("*.pml"))


@pytest.mark.timeout(1200)  # the searches have a limit of their own, in CPU time
@pytest.mark.parametrize("model", MODELS)
def test_every_search_of_the_model_ends_as_it_must(model: str) -> None:
    command = ["bash", VERIFY / "run.sh", "--short", model]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

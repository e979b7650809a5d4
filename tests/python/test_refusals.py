"""Every line of refusals.toml: a command that cannot be done, and what it is answered."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from study_fakes import refused

SMALL = {
    "LOOP": "study loop --quick --sizes 100 --peers libgomp",
    "TASKS": "study mapreduce --quick --tasks 50x1kB,50x9kB --peers libgomp",
}
REFUSALS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text())


@pytest.mark.usefixtures("runners")
@pytest.mark.parametrize("command", REFUSALS)
def test_bad_input_is_refused_in_one_line_with_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    before = sorted(tmp_path.iterdir())
    words = command
    for name, study in SMALL.items():
        words = words.replace(name, study)
    line = refused(capsys, *shlex.split(words))
    for text in REFUSALS[command]:
        assert text in line
    assert sorted(tmp_path.iterdir()) == before, "a refused command leaves no files"

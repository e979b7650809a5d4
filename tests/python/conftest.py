"""What every Python test may rely on: no settings of the caller's, plain wide output, repeatable examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from processes import slowing_cpus
from study_fakes import need_executables, write_runners
from tautochrone.machine.probe import read_machine

# Wall-clock deadlines fail on a loaded machine and say nothing of the code.
hypothesis.settings.register_profile("tautochrone", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("tautochrone")


@pytest.fixture(autouse=True)
def settings_of_the_caller_do_not_leak_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the runners are is taken from outside."""
    for name in os.environ:
        if name.startswith(("TAUTO_", "OMP_", "KMP_", "GOMP_")) and name != "TAUTO_RUNNERS":
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(autouse=True)
def disks_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed process has written is there without; tens of thousands of rows would take a minute."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def tests_that_slow_cpus_take_turns(request: pytest.FixtureRequest) -> Iterator[None]:
    with slowing_cpus() if request.node.get_closest_marker("machine") else nullcontext():
        yield


@pytest.fixture
def runners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fake executables in TAUTO_RUNNERS, and a current folder that may be written."""
    folder = write_runners(tmp_path / "bin")
    monkeypatch.setenv("TAUTO_RUNNERS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(scope="session")
def measured_machine() -> Mapping[str, Any]:
    """The record of this machine as a study measures it, which takes seconds: once for all tests."""
    need_executables("probe")
    return read_machine("quick").to_dict()


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

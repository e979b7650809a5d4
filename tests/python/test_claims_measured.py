"""`tauto claims` beside studies that were measured: they decide what no simulation can."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from study_fakes import machine
from study_nbody_fakes import laboratory, request
from tautochrone.cli import main
from tautochrone.errors import TautoError
from tautochrone.studies.claims import Verdict
from tautochrone.studies.claims_command import beside, measured_claims, studies_here, studies_in
from tautochrone.studies.nbody import ran
from tautochrone.studies.nbody.study import Nbody


def simulated(id: str, holds: bool | None) -> Verdict:
    return Verdict(
        id=id,
        published="as published",
        ours="as simulated",
        source="simulated on 2x-e5-2650v2",
        holds=holds,
        tolerance="exact",
        command=f"tauto claims --only {id}",
        fails_if="it is otherwise",
        note="asks for a measurement",
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "nbody"
    eight = laboratory(machine=machine(8))  # fewer do not decide N1
    Nbody.measure(request(folder, particles=(256,), threads=2), eight.services)
    return folder


def test_a_measured_study_decides_what_no_simulation_can(study: Path) -> None:
    decided = measured_claims(studies_in([study]))
    assert {"N1", "N2", "N3"} <= set(decided)
    n2, n1 = beside([simulated("N2", None), simulated("N1", True)], decided)
    assert (n2.holds, n2.source, n2.command) == (True, f"measured here ({study})", "tauto study nbody")
    assert n2.ours == decided["N2"].claim.ours
    assert "simulated on 2x-e5-2650v2: as simulated" in n2.note
    # Where the simulator decides, the measurement stands beside it.
    assert (n1.ours, n1.source) == ("as simulated", "simulated on 2x-e5-2650v2")
    assert f"measured here ({study}): {decided['N1'].claim.ours}; it" in n1.note


def test_a_study_with_other_bits_is_not_outvoted_by_a_short_run_with_the_right_ones(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(8), wrong={"libgomp region-i, 256": "f" * 16})
    Nbody.measure(request(tmp_path, particles=(256,), threads=2), lab.services)
    short = msgspec.structs.replace(simulated("N2", True), source=ran.SOURCE)
    (n2,) = beside([short], measured_claims(studies_in([tmp_path])))
    assert (n2.holds, n2.source) == (False, f"measured here ({tmp_path})")
    assert "run here: as simulated" in n2.note


def test_what_no_study_decides_stays_as_it_is() -> None:
    row = simulated("M6", None)
    assert beside([row], {}) == [row]


def test_the_usual_folders_are_read_and_one_that_cannot_be_is_said(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert studies_here() == []
    shutil.copytree(study, tmp_path / "tautochrone-results" / "nbody")
    damaged = tmp_path / "tautochrone-results" / "loop"
    damaged.mkdir()
    (damaged / "rows.jsonl").write_text("no rows\n")
    capsys.readouterr()
    assert set(measured_claims(studies_here())) >= {"N1", "N2", "N3"}
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"tauto: warning: {damaged.relative_to(tmp_path)} is passed over: ")


def test_a_folder_that_is_named_must_hold_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TautoError, match="no results can be read"):
        studies_in([tmp_path])
    assert main.main(["claims", "--only", "N2", "--measured", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1

"""One small study with the real executables, where they are built: the parts fit together."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from study_fakes import need_executables
from tautochrone.measuring.progress import SilentProgress
from tautochrone.results.store import Store
from tautochrone.studies.loop.study import Loop, LoopRequest
from tautochrone.studies.services import Services

pytestmark = [pytest.mark.timed, pytest.mark.machine]


@pytest.mark.slow
def test_small_study_with_the_real_runners(tmp_path: Path) -> None:
    need_executables("probe", "loop-serial", "loop-openmp", "loop-tautochrone")
    said = io.StringIO()
    asked = LoopRequest(output=tmp_path, quick=True, rounds=8, sizes=(200, 300), peers=("libgomp",))
    services = Services(progress=lambda title: SilentProgress(), output=said, messages=said)
    analysis = Loop.measure(asked, services)
    with Store.read(tmp_path) as store:
        good = [row for row in store.rows() if row.error is None]
        answers = {(row.config["size"], row.check["solution_fnv1a"]) for row in good}
    assert len(answers) == 2  # one for each size, whoever computed it
    for cell in analysis.cells:
        assert cell.ratio.verdict != "not measured"
        assert cell.bound_seconds is not None
    assert {one.runtime for one in analysis.cells[0].configurations} == {"serial", "libgomp", "tautochrone"}
    for used in analysis.cores_used:
        assert set(used.ran_on_cpus) <= set(used.asked_cpus)
        assert sum(used.rows_share.values()) == pytest.approx(1)
    assert analysis.bandwidth
    assert {load.runtime for load in analysis.cpu_load} >= {"tautochrone"}
    assert "On this machine" in said.getvalue()
    assert (tmp_path / "report.html").stat().st_size < 1_500_000

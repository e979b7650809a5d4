"""One small study with the real executables, where they are built: the parts fit together."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from study_fakes import need_executables
from tautochrone.measuring.progress import SilentProgress
from tautochrone.results.store import Store
from tautochrone.studies.mapreduce.configurations import Workload
from tautochrone.studies.mapreduce.study import MapReduce, MapReduceRequest
from tautochrone.studies.services import Services

pytestmark = [pytest.mark.timed, pytest.mark.machine]


@pytest.mark.slow
def test_small_study_with_the_real_runners(tmp_path: Path) -> None:
    need_executables("probe", *(f"mapreduce-{one}" for one in ("serial", "openmp", "async", "tautochrone")))
    said = io.StringIO()
    works = (Workload(50, seconds=1e-5),)
    asked = MapReduceRequest(
        output=tmp_path, quick=True, rounds=8, workloads=works, peers=("libgomp", "async")
    )
    services = Services(progress=lambda title: SilentProgress(), output=said, messages=said)
    analysis = MapReduce.measure(asked, services)
    with Store.read(tmp_path) as store:
        rows = store.rows()
    assert [row.error for row in rows if row.error is not None] == []
    assert len({row.check["sum"] for row in rows}) == 1  # whoever computed it
    for cell in analysis.cells:
        assert cell.task_seconds < 1e-3
        for one in cell.configurations:
            assert one.seconds is not None
            assert 0 <= one.waiting_share < 1
            assert one.cpu_load is not None
            assert one.voluntary_switches is not None
            assert one.runtime == "serial" or one.pays is not None
    assert {one.runtime for one in analysis.traces} == {"libgomp", "async", "tautochrone"}
    for trace in analysis.traces:
        events = json.loads((tmp_path / trace.file).read_text())
        names = {event.get("name") for event in events["traceEvents"]}
        assert {"task 0", "task 49"} <= names
    assert "On this machine" in said.getvalue()
    assert (tmp_path / "report.html").stat().st_size < 1_500_000

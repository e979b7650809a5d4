"""`tauto decompose`: parts in proportion to speeds, in the files that partitioners and launchers read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner_processes import CPUS, two_cpus
from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.machine import decompose
from tautochrone.machine.decompose import Rank, equal_takes, metis, openfoam, rankfile, weighted


def test_parts_are_in_proportion_to_the_speeds_and_one_together() -> None:
    ranks = weighted([0, 2, 16], [3.8, 3.8, 1.0])
    assert [rank.cpu for rank in ranks] == [0, 2, 16]
    assert ranks[0].fraction / ranks[2].fraction == pytest.approx(3.8, rel=1e-4)
    for speeds in ([1.0] * 3, [1.0] * 7, [0.3, 1e9, 5.0]):
        parts = [rank.fraction for rank in weighted(range(len(speeds)), speeds)]
        assert sum(parts) == pytest.approx(1, abs=1e-12)


def test_equal_parts_wait_for_the_slowest() -> None:
    assert equal_takes([4.0, 4.0, 1.0, 1.0]) == 2.5
    assert equal_takes([3.0] * 5) == 1


def test_each_file_is_as_its_reader_has_it() -> None:
    ranks = [Rank(2, 0.75), Rank(0, 0.25)]
    assert metis(ranks) == "0 = 0.750000\n1 = 0.250000\n"
    foam = openfoam(ranks)
    assert "numberOfSubdomains 2;" in foam
    assert "processorWeights (1.5000 0.5000);" in foam
    assert foam.count("{") == foam.count("}") == 2
    head, *lines = rankfile(ranks).splitlines()
    assert head.startswith("# mpirun --mca rmaps_rank_file_physical 1 --rankfile rankfile -n 2 ")
    assert lines == ["rank 0=localhost slot=2", "rank 1=localhost slot=0"]


@pytest.mark.timed
def test_the_files_are_written_and_the_gain_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["decompose", "--speeds", "4,4,1,1", "--output", str(tmp_path / "case")]) == 0
    said = capsys.readouterr().out
    assert "Parts of 4 ranks: CPU" in said
    assert "40.0 %" in said
    assert "Equal parts would take 2.5 times as long" in said
    assert {file.name for file in (tmp_path / "case").iterdir()} == {"tpwgts", "decomposeParDict", "rankfile"}


def test_what_was_measured_decides_and_a_core_without_a_figure_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpus = [{"cpu": cpu, "core": cpu // 2, "package": 0, "kind": "P" if cpu < 4 else "E"} for cpu in range(6)]
    measured = [
        SimpleNamespace(cpu=cpu, compute_per_second=4.0 if cpu < 4 else 1.0, memory_bytes_per_second=None)
        for cpu in range(6)
    ]
    machine = SimpleNamespace(
        to_dict=lambda: {"cpus": cpus}, usable_members=None, measured=SimpleNamespace(cpus=measured)
    )
    monkeypatch.setattr(decompose, "read_machine", lambda measure: machine)
    asked = decompose.DecomposeRequest()
    assert asked._speeds() == ((0, 2, 4), [4.0, 4.0, 1.0])  # one a core
    with pytest.raises(TautoError, match="the speed of CPU 0 could not be measured"):
        decompose.DecomposeRequest(by="memory")._speeds()
    with pytest.raises(TautoError, match="3 cores may be used here"):
        decompose.DecomposeRequest(ranks=4)._speeds()


@pytest.mark.timed
@two_cpus
@pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="Open MPI is not here")
def test_open_mpi_puts_each_rank_on_its_cpu(tmp_path: Path) -> None:
    wanted = [CPUS[1], CPUS[0]]
    file = tmp_path / "rankfile"
    file.write_text(rankfile([Rank(cpu, 0.5) for cpu in wanted]))
    words = ["mpirun.openmpi", "--allow-run-as-root", "--mca", "rmaps_rank_file_physical", "1"]
    words += ["--rankfile", str(file), "-n", "2", "sh", "-c"]
    words += ["echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    found = {
        int(rank): int(cpu) for rank, cpu in re.findall(r"^(\d) Cpus_allowed_list: (\d+)$", done.stdout, re.M)
    }
    assert found == dict(enumerate(wanted))

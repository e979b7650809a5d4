"""tauto tune end to end, on programs that other people wrote, as far as they are here; small and short."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tautochrone.cli.report import report_again
from tautochrone.errors import TautoError
from tautochrone.machine.emulate import available, emulated
from tautochrone.results.store import Store
from tautochrone.tune.answer import TuneAnalysis
from tautochrone.tune.options import TuneRequest, parse_environment
from tune_fakes import compiled, here, machine, real_services, tune_by_runs

pytestmark = [pytest.mark.timed, pytest.mark.machine, pytest.mark.usefixtures("in_an_empty_folder")]


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")


def tune(command: Sequence[object], runs: int = 40, **options: Any) -> tuple[TuneAnalysis, str]:
    """The answer after so many runs, and what was printed."""
    said = io.StringIO()
    usual = {"output": Path("out"), "report": False, "most_candidates": 8}
    request = TuneRequest(command=tuple(map(str, command)), **{**usual, **options})
    found = tune_by_runs(request, real_services(output=said), runs)
    assert found.verdict_sentences[0].startswith(("Use ", "Leave it as it is"))
    return found, said.getvalue()


def data(folder: Path, mebibytes: int = 1) -> Path:
    """Text that compresses somewhat."""
    path = folder / "data"
    words = b"".join(f"{number * number % 9973} {number:x}\n".encode() for number in range(20000))
    path.write_bytes((words * (mebibytes * (1 << 20) // len(words) + 1))[: mebibytes << 20])
    return path


def test_sort_and_its_answer_in_every_form(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("\n".join(str(number * 7919 % 65537) for number in range(200000)))
    command = ["sort", "--parallel={threads}", "-o", "/dev/null", path]
    found, said = tune(command, runs=20, values={"threads": ("2", "1")}, report=True)
    assert [one.role for one in found.candidates].count("default") == 1
    assert len(found.candidates) > 1
    assert "Profile:" in said
    profile = json.loads(Path("out/profile.json").read_text())
    assert profile["tuned_command"] == [str(word) for word in command]
    assert profile["command"][1] in ("--parallel=1", "--parallel=2")
    assert report_again(tmp_path / "out", tmp_path / "again.html").exists()
    with Store.read(tmp_path / "out") as store:
        assert {row.study for row in store.rows(None)} == {"tune"}


def test_xz(tmp_path: Path) -> None:
    need("xz")
    command = ["xz", "-0", "-k", "-c", "-T{threads}", data(tmp_path)]
    found, _ = tune(command, runs=20, values={"threads": ("1", "2")}, check="xz -t")
    assert all(one.figure is not None or one.stopped for one in found.candidates)


def test_zstd(tmp_path: Path) -> None:
    need("zstd")
    command = ["zstd", "-q", "-k", "-c", "-T{threads}", data(tmp_path, mebibytes=8)]
    found, _ = tune(command, runs=20, values={"threads": ("1", "2")}, objective="memory")
    assert found.unit == "peak memory"
    figures = [one.figure for one in found.candidates]
    assert all(one is not None and one > 1 << 20 for one in figures)


def test_openblas_through_numpy_is_found_when_it_runs() -> None:
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("NumPy is not here")
    code = "import numpy; a = numpy.ones((300, 300)); [a @ a for _ in range(5)]"
    found, _ = tune([sys.executable, "-c", code], runs=4, most_candidates=2)
    tried = {one.knob: one.because for one in found.tried}
    if "OPENBLAS_NUM_THREADS" not in tried:
        pytest.skip("this NumPy has no OpenBLAS")
    assert "loaded while it ran" in tried["OPENBLAS_NUM_THREADS"]


def test_x264(tmp_path: Path) -> None:
    need("x264")
    video = tmp_path / "video.yuv"
    video.write_bytes(os.urandom(160 * 96 * 3 // 2) * 10)
    command = ["x264", "--quiet", "--input-res", "160x96", "--threads", "{threads}", "-o", "/dev/null", video]
    tune(command, runs=8, values={"threads": ("2", "1")})


def test_gromacs_is_seen_with_its_runtimes() -> None:
    need("gmx")
    from tautochrone.inspection.findings import inspect

    found = inspect(["gmx", "mdrun"], here())
    assert found.has("libgomp")


# SPC alone: the force field that comes with it has 800 kinds of atoms, whose pairs take 200 MB to prepare.
WATER = """
[ defaults ]
1 3 yes 0.5 0.5
[ atomtypes ]
OW 8 15.9994 -0.82 A 0.316557 0.650194
HW 1 1.0080 0.41 A 0 0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.82
2 HW 1 SOL HW1 1 0.41
3 HW 1 SOL HW2 1 0.41
[ settles ]
1 1 0.1 0.1633
[ exclusions ]
1 2 3
2 1 3
3 1 2
"""


def water(boxes: int = 1) -> str:
    """A run for GROMACS, of 216 water molecules a box; two domains need several boxes."""
    need("gmx")
    box = Path("/usr/share/gromacs/top/spc216.gro")
    if not box.exists():
        pytest.skip("GROMACS has no water here")
    parameters = "integrator=md\nnsteps=20\ncoulombtype=reaction-field\nrcoulomb=0.9\nrvdw=0.9\n"
    Path("md.mdp").write_text(parameters)
    Path("md.top").write_text(f"{WATER}[ system ]\nwater\n[ molecules ]\nSOL {216 * boxes}\n")
    for words in (
        ["gmx", "genconf", "-f", box, "-nbox", boxes, 1, 1, "-o", "box.gro"],
        ["gmx", "grompp", "-f", "md.mdp", "-c", "box.gro", "-p", "md.top", "-o", "md.tpr", "-maxwarn", 5],
    ):
        subprocess.run(list(map(str, words)), check=True, capture_output=True)
    return "md.tpr"


def test_the_figure_of_gromacs_is_found_where_it_prints_it() -> None:
    found, _ = tune(
        ["gmx", "mdrun", "-ntmpi", "1", "-ntomp", "{omp}", "-s", water()],
        runs=4,
        values={"omp": ("2", "1")},
        objective="regex-max:Performance: +([0-9.]+)",
        scratch=True,
        most_candidates=2,
    )
    assert {one.figure is not None for one in found.candidates} == {True}


BUT_RANKS = "OMP_NUM_THREADS OMP_PLACES OMP_PROC_BIND OMP_WAIT_POLICY cpus mpi_map mpi_bind"


def test_gromacs_under_an_mpi_is_tried_with_other_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gmx_mpi")
    need("mpirun")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    found, _ = tune(
        ["mpirun", "--oversubscribe", "-n", "2", "gmx_mpi", "mdrun", "-ntomp", "1", "-s", water(3)],
        runs=8,
        scratch=True,
        excluded=tuple(BUT_RANKS.split()),
        most_candidates=4,
    )
    ranked = [one for one in found.candidates if one.figure is not None or one.stopped]
    ranks = {one.settings.get("mpi_ranks") for one in ranked}
    assert len(ranks) >= 2
    assert {one.knob for one in found.tried} >= {"mpi_ranks"}


def test_an_objective_that_the_program_prints() -> None:
    script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo speed: $SPEED"
    found, _ = tune(
        ["sh", "-c", "SPEED=${SPEED:-10}; " + script],
        objective="regex-max:speed: ([0-9.]+)",
        environment=parse_environment(["SPEED=20,5"]),
        excluded=("cpus",),
    )
    assert found.settings == {"SPEED": "20"}
    assert "100 % higher than now" in found.verdict_sentences[0]


def rows_stored() -> int:
    with Store.read(Path("out")) as store:
        return len(store.rows(None))


@pytest.mark.parametrize(
    "other",
    [
        *({"objective": objective} for objective in ("regex:([0-9]+)", "memory")),
        *({"check": "grep -q 8"}, {"same_output": True}, {"scratch": True}),
    ],
)
def test_a_search_that_judges_otherwise_does_not_go_on_with_the_rows(other: dict[str, Any]) -> None:
    command = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo 8"]
    options: dict[str, Any] = {"environment": parse_environment(["X=1"]), "excluded": ("cpus",)}
    tune(command, runs=10, **options)
    rows = rows_stored()
    with pytest.raises(TautoError, match=r"measured with other settings.*--fresh"):
        tune(command, runs=10, **options, **other)
    tune(command, runs=10, **options)
    assert rows_stored() >= rows


@pytest.mark.parametrize("lines", [0, 1])
def test_a_search_that_was_killed_before_its_first_run_begins_again(lines: int) -> None:
    """Its file is empty then, has the beginning of a line, or does not say of which machine it is."""
    command, options = ["sleep", "0.01"], {"environment": parse_environment(["X=1"]), "excluded": ("cpus",)}
    tune(command, runs=10, **options)
    path = Path("out/rows.jsonl")
    whole = path.read_bytes().splitlines(keepends=True)
    for left in (b"", whole[lines][:40]):
        path.write_bytes(b"".join(whole[:lines]) + left)
        tune(command, runs=10, **options)
        assert rows_stored() >= 10


def test_a_wrong_answer_does_not_win() -> None:
    script = 'i=0; while [ $i -lt ${N:-80000} ]; do i=$((i + 1)); done; echo "$i" | cut -c 1'
    options: dict[str, Any] = {"environment": parse_environment(["N=20000"]), "excluded": ("cpus",)}
    for guard in ({"check": "grep -q 8"}, {"same_output": True}):
        found, _ = tune(["sh", "-c", script], fresh=True, **options, **guard)
        assert found.settings == {}


def test_several_nodes_run_candidates_side_by_side(tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp("nodes") / "log"
    tune(
        ["sh", "-c", f"echo begin >> {log}; sleep 0.2; echo end >> {log}"],
        runs=24,
        environment=parse_environment(["X=1,2,3,4,5,6"]),
        excluded=("cpus",),
        launcher=("sh", "-c", 'SLURMD_NODENAME=node$$ exec "$@"', "node"),
        nodes=4,
    )
    running = list(accumulate(1 if line == "begin" else -1 for line in log.read_text().split()))
    assert max(running) in (2, 3, 4)
    assert running[-1] == 0


@pytest.mark.slow
def test_weighted_places_balance_a_static_loop_on_unequal_cores(tmp_path: Path) -> None:
    possible, why = available()
    if not possible or len(os.sched_getaffinity(0)) < 2:
        pytest.skip(why or "one CPU")
    program = compiled("static_loop.c", tmp_path, "-fopenmp")
    slow = max(os.sched_getaffinity(0))
    with emulated({slow: 4.0}) as state:
        factor = state.factors[slow]
        speeds = [1.0] * slow + [1.0 / factor]
        command = (str(program), "60", "300")
        request = TuneRequest(command=command, output=tmp_path / "out", report=False, most_candidates=5)
        found = tune_by_runs(request, real_services(machine=lambda measure: machine(speeds)), 20)
    weighted = [one for one in found.candidates if "weighted_places" in one.settings]
    assert weighted
    # No verdict on times here: a test must not depend on the load. benchmarks/README.md has the figures. A
    # search stops a run that takes 1.3 times the best time, and load can do that to any candidate.
    assert all(one.figure is not None or one.stopped for one in weighted)

"""--launcher and --nodes: candidates on the nodes of a cluster. Nodes are folders here, and srun a script."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tautochrone.errors import TautoError
from tautochrone.inspection.watching import watch
from tautochrone.machine.record import Machine
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.subprocess_executor import ProgramExecutor
from tautochrone.results.store import Store
from tautochrone.tune import spreading
from tautochrone.tune.answer import TuneAnalysis
from tautochrone.tune.options import TuneRequest, parse_environment
from tautochrone.tune.preparing import prepare
from tautochrone.tune.services import Services
from tautochrone.tune.spreading import SpreadExecutor, runs_elsewhere
from tune_fakes import DAEMON, here, machine, real_services, tune_by_runs

pytestmark = [pytest.mark.timed, pytest.mark.machine]

# Takes the first node that nobody has, as srun --exclusive does, and keeps it until its command ends. As the
# real one it reads no input and takes its job back when it is asked to end, but not when it is killed.
SRUN = """#!/bin/sh
trap 'echo "$$" >> "$NODES/../taken-back"; exit 143' TERM
echo "$$" >> "$NODES/../asked"
while [ "${1#-}" != "$1" ]; do shift; done
while :; do
  for node in "$NODES"/*; do
    if mkdir "$node/taken" 2>/dev/null; then
      trap 'rmdir "$node/taken"' EXIT
      cd "$node"
      export NODE="${node##*/}" HOSTNAME="${node##*/}" SLURMD_NODENAME="${node##*/}"
      echo "$NODE" >> "$NODES/../jobs"
      "$@"
      exit
    fi
  done
  sleep 0.05
done
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three nodes, and the folder in which the search is started."""
    (tmp_path / "srun").write_text(SRUN)
    (tmp_path / "srun").chmod(0o755)
    for name in ("n1", "n2", "n3"):
        (tmp_path / "nodes" / name).mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("NODES", str(tmp_path / "nodes"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOSTNAME", "login")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def services(node: Machine | None = None) -> Services:
    return real_services(
        machine=lambda measure: machine([1.0] * 64),  # of the login node: nothing may be made from it
        nodes=lambda request, measure: node or here(),
    )


def asked(command: str, **options: Any) -> TuneRequest:
    usual: dict[str, Any] = {
        "command": ("sh", "-c", command),
        "environment": parse_environment(["X=1,2,3,4,5,6"]),
        "excluded": ("cpus",),
        "launcher": ("srun", "-N1", "--exclusive"),
        "nodes": 3,
        "output": Path("out"),
        "report": False,
    }
    return TuneRequest(**{**usual, **options})


def tuned(command: str, **options: Any) -> TuneAnalysis:
    return tune_by_runs(asked(command, **options), services(), 40)


def run_through(words: tuple[str, ...], of: Configuration, limit_seconds: float = 30.0) -> RunResult:
    """One run that such a launcher starts elsewhere."""
    with ProgramExecutor(runs_here=False, through=words) as executor:
        return executor.run(of, limit_seconds)


def taken(cluster: Path, *nodes: str) -> None:
    """Others have these nodes."""
    for node in nodes:
        (cluster / "nodes" / node / "taken").mkdir()


def test_candidates_run_on_all_nodes_and_never_two_on_one(cluster: Path) -> None:
    log = cluster / "log"
    tuned(f"echo begin $NODE >> {log}; sleep 0.1; echo end $NODE >> {log}")
    words = [line.split() for line in log.read_text().splitlines()]
    for node in ("n1", "n2", "n3"):
        own = [1 if what == "begin" else -1 for what, where in words if where == node]
        assert own
        assert max(accumulate(own)) == 1
    assert max(accumulate(1 if what == "begin" else -1 for what, _ in words)) >= 2
    assert not list((cluster / "nodes").glob("*/taken"))


def test_a_node_is_asked_for_once_and_not_for_each_run(cluster: Path) -> None:
    tuned("sleep 0.05")
    jobs = Counter((cluster / "jobs").read_text().split())
    with Store.read(Path("out")) as store:
        assert len(store.rows(None)) > 10
    assert sum(jobs.values()) <= 1 + 3 + 1  # the trial, three nodes, the look at the winner


def test_settings_and_folder_reach_the_program_and_the_variables_of_its_node_stay(cluster: Path) -> None:
    log = cluster / "log"
    cpu = min(os.sched_getaffinity(0))
    line = "$X $(nice) $(env -u OMP_NUM_THREADS nproc) $(pwd) $HOSTNAME $NODE"
    start = {"nice": 3, "cpus": [cpu]}
    configuration = Configuration("x", ["sh", "-c", f'echo "{line}" > {log}'], {"X": "7"}, start=start)
    assert run_through(("srun",), configuration).error is None
    niceness = str(min(os.nice(0) + 3, 19))
    assert log.read_text().split() == ["7", niceness, "1", str(cluster / "work"), "n1", "n1"]


def test_waiting_for_a_node_is_not_time_of_the_program(cluster: Path) -> None:
    taken(cluster, "n1", "n2", "n3")
    with ProgramExecutor(runs_here=False, through=("sh", "-c", FREE, "sh")) as executor:
        begun = time.monotonic()
        result = executor.run(Configuration("x", ["sleep", "0.05"]), 60.0)
        in_all = time.monotonic() - begun
    assert result.seconds is not None
    assert result.seconds <= in_all - 1.0


FREE = 'sleep 1; rmdir "$NODES/n2/taken"; exec srun "$@"'


def test_scratch_folders_and_outputs_lie_where_all_nodes_see_them(cluster: Path) -> None:
    Path("state").write_text("mine")
    script = f"pwd >> {cluster}/log; cat state; echo its > state; sleep 0.05"
    tuned(script, scratch=True, same_output=True)
    folders = (cluster / "log").read_text().split()
    assert all(Path(one).parent == cluster / "work" / "out" for one in folders)
    assert len(set(folders)) == len(folders)
    assert Path("state").read_text() == "mine"
    assert not list(Path("out").glob("tauto-*"))


def test_memory_is_that_of_the_program_and_not_of_the_launcher(cluster: Path) -> None:
    code = "import time; x = bytearray(b'x') * ((60 if X else 30) << 20); time.sleep(0.05)"
    words = f"exec {sys.executable} -c \"import os; X = os.environ.get('X'); {code}\""
    found = tuned(words, objective="memory", environment=parse_environment(["X=1"]))
    figures = {one.name: one.figure for one in found.candidates}
    assert figures["default"] is not None
    assert 30 << 20 < figures["default"] < 60 << 20


def test_values_are_made_for_the_nodes_and_not_for_this_machine(cluster: Path) -> None:
    request = asked("sleep 0.05", excluded=())
    four = machine([1.0] * 4)
    prepared = prepare(request, services(four))
    assert prepared.machine == four
    assert next(one.values for one in prepared.space.tried if one.knob == "cpus") == ("0-1", "0")


def test_what_a_program_loads_is_seen_on_its_node(cluster: Path) -> None:
    elsewhere: dict[str, Any] = {"through": ("srun", "-N1"), "runs_here": False}
    code = "import _ctypes, os, time; time.sleep(0.2); print(os.environ['NODE'], os.getcwd())"
    seen = watch([sys.executable, "-c", code], 30.0, **elsewhere)
    assert seen.output.split() == ["n1", str(cluster / "work")]
    assert any("libc.so" in one for one in seen.files)
    assert any("_ctypes" in one for one in seen.files)
    assert seen.exit_code == 0
    assert not seen.left_running
    daemon = watch(["sh", "-c", DAEMON], 60.0, **elsewhere)
    assert daemon.left_running == ("sleep",)


def test_the_machine_is_read_on_a_node(cluster: Path) -> None:
    found = spreading.machine_of_nodes(asked("true", nodes=1), "none")
    assert set(found.allowed_cpus) == os.sched_getaffinity(0)
    assert (cluster / "jobs").read_text() == "n1\n"


def test_nodes_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = iter([machine([1.0] * 4), machine([1.0] * 8)])
    monkeypatch.setattr(spreading, "_machine_of_node", lambda request, measure, executor: next(kinds))
    with pytest.raises(TautoError, match=r"nodes are not equal: a test with CPU 0-[37], and .*--constraint"):
        spreading.machine_of_nodes(asked("true", nodes=2), "none")


TWICE = "import subprocess, sys; asked = sys.stdin.buffer.readline()"
TWICE += "; [subprocess.run(sys.argv[1:], input=asked) for _ in range(2)]"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sh", "-c", "exit 3"), r"ended \(exit code 3\) before it had an answer.*--version"),
        (("no-such-launcher",), r"--launcher no-such-launcher cannot be started"),
        ((sys.executable, "-c", TWICE), r"starts more than one process.*-n1"),
    ],
)
def test_a_launcher_that_cannot_be_used_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(TautoError, match=said):
        run_through(words, Configuration("x", ["true"]), 10.0)


def run_on_two(command: str, words: tuple[str, ...]) -> None:
    executor = SpreadExecutor(lambda: ProgramExecutor(runs_here=False, through=words), nodes=2)
    runs = [Configuration(name, ["sh", "-c", command], {"X": name}) for name in "123456"]
    with closing(executor):
        executor.expect([(one, 30.0) for one in runs])
        for one in runs:
            assert executor.run(one, 30.0).error is None


def test_the_winner_is_looked_at_where_the_search_has_all_nodes(cluster: Path) -> None:
    found = tuned("sleep 0.$((3 - X))", environment=parse_environment(["X=2"]))
    assert found.settings == {"X": "2"}


def test_fewer_nodes_than_were_asked_for_are_enough(cluster: Path) -> None:
    taken(cluster, "n2", "n3")
    run_on_two("sleep 0.1", ("srun", "-N1", "--exclusive"))
    asked, taken_back = (set((cluster / name).read_text().split()) for name in ("asked", "taken-back"))
    assert len(asked) == 2
    assert len(taken_back) == 1
    assert taken_back < asked


def test_one_node_for_two_is_refused(cluster: Path) -> None:
    with pytest.raises(TautoError, match=r"node n1 twice at a time.*srun -N1 -n1"):
        run_on_two("sleep 0.3", ("env", "SLURMD_NODENAME=n1"))


def test_a_job_that_still_waits_is_taken_back_when_the_search_is_interrupted(cluster: Path) -> None:
    taken(cluster, "n1", "n2", "n3")

    def interrupt() -> None:
        while not (cluster / "asked").exists() or len((cluster / "asked").read_text().split()) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=interrupt)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        spreading.machine_of_nodes(asked("true", nodes=2), "none")
    pressing.join()
    assert len((cluster / "taken-back").read_text().split()) == 2


def test_a_node_that_is_lost_is_named(cluster: Path) -> None:
    configuration = Configuration("x", ["sh", "-c", 'kill -9 "$PPID"; sleep 5'])
    with pytest.raises(TautoError, match=r"during a run on n1: the node or its job was lost.*goes on from"):
        run_through(("srun", "-N1"), configuration)


def test_a_launcher_that_goes_through_a_shell_has_its_words_quoted(cluster: Path) -> None:
    (cluster / "ssh").write_text('#!/bin/sh\nshift\ncd /\nexec env -i sh -c "$*"\n')
    (cluster / "ssh").chmod(0o755)
    variables = {"X": "1", "Y": str(cluster / "work")}
    configuration = Configuration("x", ["sh", "-c", 'test "$X" = 1 && test "$PWD" = "$Y"'], variables)
    assert run_through(("ssh", "n1"), configuration).error is None


@pytest.mark.parametrize(
    ("words", "elsewhere"),
    [
        ((), False),
        (("env", "A=1"), False),
        (("nice", "-n", "5", "taskset", "-c", "0"), False),
        (("srun", "-N1"), True),
        (("env", "A=1", "srun", "-N1"), True),
        (("ssh", "n1"), True),
        (("flux", "run", "-N1"), True),
    ],
)
def test_who_starts_on_other_machines(words: tuple[str, ...], elsewhere: bool) -> None:
    assert runs_elsewhere(TuneRequest(command=("true",), launcher=words)) is elsewhere


def test_a_search_through_another_launcher_is_another_search() -> None:
    assert TuneRequest(command=("true",)).judged == ()
    assert TuneRequest(command=("true",), launcher=("srun", "-N1")).judged == ("--launcher=srun -N1",)

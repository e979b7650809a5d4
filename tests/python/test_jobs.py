"""Jobs are done once, wherever: here, on a launcher's nodes, on Dask's workers, some of which die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from processes import wait_until, with_lab
from tautochrone.cli import main
from tautochrone.errors import TautoError
from tautochrone.jobs import here, kept, on_dask, spread, work
from tautochrone.simulator import engine, machines

pytestmark = pytest.mark.timed

# A simulator that doubles sizes, and writes down each that it begins. At the size in the file `kills` it
# kills, once, the process that has started it; where there is a file `waits`, after something was kept.
# At 13 it refuses.
FAKE = """#!/bin/sh
cd "$(dirname "$0")"
while read -r line; do
    case $line in '{"machine"'*) continue ;; esac
    size=${line##*size\\": }; size=${size%%\\}*}
    echo "$size $PPID" >>begun
    if [ "$size" = "$(cat kills 2>/dev/null)" ]; then
        while [ -e waits ] && [ ! -s kept.jsonl ]; do sleep 0.01; done
        rm kills; kill -9 $PPID; exec sleep 60
    fi
    if [ "$size" = 13 ]; then echo 'tauto-simulate: error: 13 brings bad luck; take 14' >&2; exit 2; fi
    echo "{\\"seconds\\": $((2 * size))}"
done
"""
SIZES = [*range(20, 60)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the simulator is, and this process."""
    simulator = tmp_path / "tauto-simulate"
    simulator.write_text(FAKE)
    simulator.chmod(0o755)
    monkeypatch.setenv("TAUTO_RUNNERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulated(*sizes: int) -> list[int]:
    rows = engine.simulate(machines.load("rk3588"), [{"study": "loop", "size": size} for size in sizes])
    return [int(row["seconds"]) for row in rows]


def begun(folder: Path) -> list[int]:
    """The sizes that were begun, in order."""
    path = folder / "begun"
    return sorted(int(line.split()[0]) for line in path.read_text().splitlines()) if path.exists() else []


def doubled(sizes: list[int]) -> list[int]:
    return [2 * size for size in sizes]


# -- here --


@pytest.mark.parametrize("cpus", [1, 3])
def test_answers_are_in_the_order_of_the_questions(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cpus: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    monkeypatch.setattr(spread, "_now", spread._Place(here.Here()))
    assert simulated(*SIZES) == doubled(SIZES)
    assert begun(folder) == SIZES
    processes = {line.split()[1] for line in (folder / "begun").read_text().splitlines()}
    assert processes == {str(os.getpid())}


def test_the_same_question_is_asked_once(folder: Path) -> None:
    assert simulated(20, 21, 20, 20) == [40, 42, 40, 40]
    assert begun(folder) == [20, 21]


def test_a_refusal_of_one_share_ends_the_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(spread, "_now", spread._Place(here.Here()))
    with pytest.raises(TautoError, match=r"the simulator refused: 13 brings bad luck. Take 14"):
        simulated(13, *SIZES)
    assert simulated(*SIZES) == doubled(SIZES)  # the CPUs were given back


def test_a_simulator_that_leaves_rows_out_is_told(folder: Path) -> None:
    (folder / "tauto-simulate").write_text("#!/bin/sh\necho '{\"seconds\": 1}'\n")
    with pytest.raises(TautoError, match=r"1 rows for 2 runs"):
        simulated(20, 21)


# -- kept --


def test_what_is_kept_is_not_simulated_again(folder: Path) -> None:
    path = folder / "kept.jsonl"
    for sizes in (SIZES[:9], SIZES):
        with spread.spread_over((), 1, None, path):
            assert simulated(*sizes) == doubled(sizes)
    assert begun(folder) == SIZES
    assert len(path.read_text().splitlines()) == len(SIZES)
    simulated(20)
    assert begun(folder).count(20) == 2  # once the command has ended, nothing is kept


def test_a_command_without_a_file_simulates_nothing_twice(folder: Path) -> None:
    with spread.spread_over((), 1, None, None):
        assert simulated(20, 21) == simulated(20, 21) == [40, 42]
    assert sorted(begun(folder)) == [20, 21]
    assert not list(folder.glob("**/*.jsonl"))


def test_a_command_that_was_killed_goes_on(folder: Path) -> None:
    path = folder / "kept.jsonl"
    (folder / "kills").write_text("50")
    (folder / "waits").touch()
    code = (
        "from pathlib import Path; from tautochrone.jobs import spread; "
        "from tautochrone.simulator import engine, machines; "
        f"requests = [{{'study': 'loop', 'size': size}} for size in {SIZES}]\n"
        f"with spread.spread_over((), 1, None, Path('{path}')): "
        "engine.simulate(machines.load('rk3588'), requests)"
    )
    killed = subprocess.run([sys.executable, "-c", code], env=with_lab(), check=False)
    assert killed.returncode == -signal.SIGKILL
    kept_then = len(path.read_text().splitlines())
    assert 0 < kept_then < len(SIZES)
    begun_then = len(begun(folder))
    with spread.spread_over((), 1, None, path):
        assert simulated(*SIZES) == doubled(SIZES)
    assert len(begun(folder)) - begun_then == len(SIZES) - kept_then
    assert len(path.read_text().splitlines()) == len(SIZES)


def test_another_simulator_simulates_all_again(folder: Path) -> None:
    path = folder / "kept.jsonl"
    with spread.spread_over((), 1, None, path):
        simulated(20)
        simulator = folder / "tauto-simulate"
        simulator.write_text(simulator.read_text().replace("2 * size", "3 * size"))
        assert simulated(20) == [60]


def test_what_was_done_before_an_error_is_kept_and_a_damaged_line_is_done_again(folder: Path) -> None:
    path = folder / "kept.jsonl"
    with spread.spread_over((), 1, None, path), pytest.raises(TautoError, match=r"bad luck"):
        simulated(20, 21, 22, 13)
    first = path.read_text().splitlines()[0]
    path.write_text(f'{first}\nno JSON\n{{"key": "cut')
    with spread.spread_over((), 1, None, path):
        assert simulated(20, 21, 22) == [40, 42, 44]
    lines = lines_of(path)
    assert lines[0] == first
    assert len(kept.Kept(path).known(json.loads(line)["key"] for line in lines)) == len(lines) == 3


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.startswith("{")]


def test_a_file_of_something_else_is_refused_and_stays(folder: Path) -> None:
    path = folder / "letter"
    path.write_text("Dear Mr Huygens\n")
    with (
        pytest.raises(TautoError, match=r"holds no simulations.*--kept"),
        spread.spread_over((), 1, None, path),
    ):
        simulated(20)
    assert path.read_text() == "Dear Mr Huygens\n"


# -- on nodes --

# Each worker is another "node"; so that both get work, the first that begins a share waits for the second.
LAUNCHER = ("sh", "-c", 'exec "$@"', "node")


def test_nodes_do_all_and_one_that_dies_loses_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "kills").write_text("33")
    with spread.spread_over(LAUNCHER, 2, None, None):
        assert simulated(*SIZES) == doubled(SIZES)
    assert set(begun(folder)) == set(SIZES)
    assert "has ended" in capsys.readouterr().err
    assert len(lines_of(folder / spread.KEPT_FILE)) == len(SIZES)
    before = begun(folder)
    with spread.spread_over(LAUNCHER, 1, None, None):
        assert simulated(*SIZES) == doubled(SIZES)
    assert begun(folder) == before


def test_ssh_hands_the_words_to_a_shell(folder: Path) -> None:
    """It makes one line of them, without quotes, and hands over no variables."""
    ssh = folder / "ssh"
    ssh.write_text('#!/bin/sh\nshift\nexec env -u TAUTO_RUNNERS sh -c "$*"\n')
    ssh.chmod(0o755)
    with spread.spread_over((str(ssh), "node7"), 1, None, None):
        assert simulated(*SIZES) == doubled(SIZES)


def test_without_a_node_left_it_says_so_and_goes_on_later(folder: Path) -> None:
    (folder / "kills").write_text("33")
    with (
        pytest.raises(TautoError, match=r"no other is left.*the same command goes on"),
        spread.spread_over(LAUNCHER, 1, None, None),
    ):
        simulated(*SIZES)
    with spread.spread_over((), 1, None, spread.KEPT_FILE):
        assert simulated(*SIZES) == doubled(SIZES)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-launcher",), "no-such-launcher could not be started.*--launcher"),
        (("sh", "-c", "echo no node is free >&2; exit 1"), "no other is left: no node is free"),
        (("echo", "hello"), "let the launcher start one process"),
    ],
)
def test_a_launcher_that_gives_no_worker(folder: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(TautoError, match=said), spread.spread_over(words, 1, None, None):
        simulated(20)


def test_a_refusal_on_a_node_is_told(folder: Path) -> None:
    with (
        pytest.raises(TautoError, match=r"the simulator refused: 13 brings bad luck. Take 14"),
        spread.spread_over(LAUNCHER, 1, None, None),
    ):
        simulated(13)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--nodes 0", "--nodes 0 leaves nothing to run on"),
        ("--nodes 2", "--nodes 2 needs what starts a worker"),
        ("--launcher srun --dask here:1", "two places for the same jobs"),
        ("--launcher 'srun", "cannot be split into words"),
    ],
)
@pytest.mark.parametrize("command", ["claims", "simulate loop --machine rk3588"])
def test_options_that_do_not_agree(
    command: str, options: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = options.split(" ", 1)
    assert main.main([*command.split(), *(words if "'" in options else options.split())]) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")


# -- on Dask --


def test_a_worker_of_another_version_is_refused(folder: Path) -> None:
    answers, refused = work.done(work.SIMULATE, "0.0.1 tauto-simulate:123", ["{}"])
    assert answers == []
    assert refused is not None
    assert "and here is 0.0.1 tauto-simulate:123" in refused[0]
    assert "Install the same tautochrone" in refused[1]
    assert begun(folder) == []


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(TautoError, match=r"needs the Python package distributed.*tautochrone\[cluster\]"),
        spread.spread_over((), 1, "tcp://127.0.0.1:1", None),
    ):
        pass


@contextmanager
def dask_worker(address: str, folder: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with one thread, and with nobody who would start it again."""
    words = ["worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", name]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *words[1:]]
    with (folder / name).open("wb") as log:
        worker = subprocess.Popen(command, env=with_lab(), cwd=folder, stdout=log, stderr=log)
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


def test_dask_does_all_once_though_a_worker_is_killed_and_says_what_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One scheduler for all of it, since each takes a second to start."""
    distributed: Any = pytest.importorskip("distributed")
    monkeypatch.setattr(on_dask, "CONNECT_SECONDS", 1.0)
    with pytest.raises(TautoError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        on_dask.OnDask("tcp://127.0.0.1:1")
    with pytest.raises(TautoError, match=r"no Dask scheduler answers at 'nonsense://'"):
        on_dask.OnDask("nonsense://")
    monkeypatch.setattr(on_dask, "CONNECT_SECONDS", 60.0)
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp://", dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(TautoError, match=r"has no workers. Start some: dask worker"):
            on_dask.OnDask(address)
        with (
            dask_worker(address, folder, "one") as one,
            dask_worker(address, folder, "two") as two,
            distributed.Client(address) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            (folder / "kills").write_text("33")
            with spread.spread_over((), 1, address, None):
                assert simulated(*SIZES) == doubled(SIZES)
                wait_until(lambda: one.poll() is not None or two.poll() is not None, "the end of a worker")
                assert {one.poll(), two.poll()} == {None, -signal.SIGKILL}
                with pytest.raises(TautoError, match=r"the simulator refused: 13 brings bad luck. Take 14"):
                    simulated(13)
            rows = lines_of(folder / spread.KEPT_FILE)
            assert len({json.loads(row)["key"] for row in rows}) == len(rows) == len(SIZES)
            monkeypatch.setattr(work, "version_of", lambda kind: "0.0.1")
            with (
                pytest.raises(TautoError, match=r"has .*tauto-simulate:.*and here is 0.0.1"),
                spread.spread_over((), 1, address, folder / "others.jsonl"),
            ):
                simulated(20)
            monkeypatch.setattr(on_dask, "PATIENCE_SECONDS", 0.0)
            monkeypatch.setattr(on_dask, "_LOOK_SECONDS", 0.1)
            with spread.spread_over((), 1, address, folder / "others.jsonl"):
                one.kill()
                two.kill()
                with pytest.raises(TautoError, match=r"has had no workers.*the same command goes on"):
                    simulated(20)

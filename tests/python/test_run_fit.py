"""tauto run --fit: as many threads as the quota and the mask allow, in each runtime of the program."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from machine_trees import trees
from processes import run_to_end, with_lab
from runner_processes import FOLDER, needs_runners, two_cpus
from tautochrone.cli import main
from tautochrone.fitting.fit import fit, fit_for, some_cpus
from tautochrone.inspection.findings import Findings, known_runtimes
from tautochrone.machine import runners
from tautochrone.machine.probe import read_machine
from tautochrone.machine.record import Machine
from tautochrone.tune.knobs import knobs
from tautochrone.tune.values import place_of
from tune_fakes import compiled, findings

pytestmark = [needs_runners, pytest.mark.timed]

TAUTO = Path(FOLDER or "").resolve() / "tauto"
EVERYWHERE = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
)


@pytest.fixture(scope="module")
def machine_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Machine]:
    folder = tmp_path_factory.mktemp("trees")
    return lambda name: read_machine(root=trees.build(name, folder))


@pytest.fixture(scope="module")
def large(machine_of: Callable[[str], Machine]) -> Machine:
    """A container with 1.5 of 224 CPUs."""
    return machine_of("large_container")


def limited(folder: Path, *quotas: str, allowed: str | None = None) -> Path:
    """A desktop of 16 CPUs whose groups, from the top down, have these quotas."""
    groups = [f"/g{depth}" for depth in range(len(quotas))]
    files = {"proc/self/mountinfo": trees.CGROUP2_MOUNT, "proc/self/cgroup": f"0::{''.join(groups)}"}
    for depth, quota in enumerate(quotas):
        files[f"sys/fs/cgroup{''.join(groups[: depth + 1])}/cpu.max"] = quota
    trees.write_tree(folder, trees.desktop(files, allowed=allowed))
    return folder


# -- how many --


@pytest.mark.parametrize(
    ("quotas", "allowed", "threads", "why"),
    [
        (["150000 100000"], None, 2, "the quota is 1.5 of 16 CPUs"),
        (["350000 100000"], None, 4, "the quota is 3.5 of 16 CPUs"),
        (["10000 100000"], None, 1, "the quota is 0.1 of 16 CPUs"),
        (["max 100000", "250000 100000", "400000 100000"], None, 3, "the quota is 2.5 of 16 CPUs"),
        (["400000 100000", "max 100000", "600000 100000"], None, 4, "the quota is 4 of 16 CPUs"),
        (["800000 100000"], "2-4", 3, "3 of 16 CPUs may be used"),
        (["150000 100000"], "2-4", 2, "the quota is 1.5 of 3 CPUs"),
        (["150000 100000"], "2,3", 2, "the quota is 1.5 of 2 CPUs"),
        ([], "5", 1, "1 of 16 CPUs may be used"),
    ],
)
def test_threads_are_the_smaller_of_the_mask_and_the_quota_rounded_up(
    tmp_path: Path, quotas: list[str], allowed: str | None, threads: int, why: str
) -> None:
    machine = read_machine(root=limited(tmp_path, *quotas, allowed=allowed))
    found = fit_for(findings("libgomp"), machine, {})
    assert found.environment == {"OMP_NUM_THREADS": str(threads)}
    assert found.sentences[0] == f"{threads} thread{'s' if threads > 1 else ''}: {why}; OMP_NUM_THREADS"


def test_one_and_a_half_of_224_cpus_are_two_threads(large: Machine) -> None:
    found = fit_for(findings("libgomp", "openblas"), large, {})
    assert found.environment == {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    assert found.cpus == ()
    assert found.sentences == (
        "2 threads: the quota is 1.5 of 224 CPUs; OMP_NUM_THREADS, OPENBLAS_NUM_THREADS",
    )


@pytest.mark.parametrize("quotas", [[], ["max 100000"], ["1600000 100000"], ["9900000 100000"]])
def test_where_nothing_limits_the_program_nothing_is_set(tmp_path: Path, quotas: list[str]) -> None:
    found = fit_for(findings("libgomp", "tbb"), read_machine(root=limited(tmp_path, *quotas)), {})
    assert (found.threads, found.environment, found.cpus) == (16, {}, ())
    assert found.sentences == ("16 threads: all CPUs may be used; nothing is set",)


def test_a_quota_that_pays_for_as_many_threads_as_cpus_is_said_and_nothing_is_set(tmp_path: Path) -> None:
    found = fit_for(findings("libgomp"), read_machine(root=limited(tmp_path, "1550000 100000")), {})
    assert found.environment == {}
    assert found.sentences == ("16 threads: the quota is 15.5 of 16 CPUs; nothing is set",)


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"])
def test_ranks_on_a_machine_share_its_quota_and_keep_their_cpus(tmp_path: Path, name: str) -> None:
    machine = read_machine(root=limited(tmp_path, "600000 100000"))
    for ranks, threads in (("1", 6), ("4", 2), ("6", 1), ("100", 1), ("many", 6)):
        found = fit_for(findings("libgomp", "openmpi"), machine, {name: ranks})
        assert found.environment == {"OMP_NUM_THREADS": str(threads)}
    shared = fit_for(findings("tbb"), machine, {name: "4"})
    assert shared.cpus == ()
    assert shared.sentences == (
        "2 threads: the quota is 6 of 16 CPUs, which 4 ranks share; "
        "oneTBB counts the CPUs that it may use, which are the launcher's to choose",
    )


# -- which variables --


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        ("libgomp", "OMP_NUM_THREADS"),
        ("libomp", "OMP_NUM_THREADS"),
        ("openblas", "OPENBLAS_NUM_THREADS"),
        ("mkl", "MKL_NUM_THREADS"),
        ("blis", "BLIS_NUM_THREADS"),
        ("rayon", "RAYON_NUM_THREADS"),
        ("go", "GOMAXPROCS"),
    ],
)
def test_a_variable_is_set_for_its_runtime_unless_the_user_has(
    large: Machine, runtime: str, name: str
) -> None:
    assert fit_for(findings(runtime), large, {}).environment == {name: "2"}
    assert fit_for(findings(runtime), large, {name: ""}).environment == {name: "2"}
    kept = fit_for(findings(runtime), large, {name: "7"})
    assert kept.environment == {}
    assert kept.variables == ()
    assert kept.sentences == (f"2 threads: the quota is 1.5 of 224 CPUs; left as you set it: {name}=7",)


@pytest.mark.parametrize(
    ("runtime", "others"),
    [
        ("openblas", ["GOTO_NUM_THREADS", "OMP_NUM_THREADS"]),
        ("mkl", ["OMP_NUM_THREADS"]),
        ("blis", ["OMP_NUM_THREADS"]),
    ],
)
def test_a_blas_that_follows_another_variable_of_the_user_is_left_to_it(
    large: Machine, runtime: str, others: list[str]
) -> None:
    for other in others:
        kept = fit_for(findings(runtime), large, {other: "1"})
        assert kept.environment == {}
        assert kept.sentences[0].endswith(f"; left as you set it: {other}=1")


def test_java_gets_one_more_option_beside_those_of_the_user(large: Machine) -> None:
    def environment(command: str = "java Main", **variables: str) -> Mapping[str, str]:
        found = findings("jvm", command=tuple(command.split()))
        return fit_for(found, large, variables).environment

    option = "-XX:ActiveProcessorCount=2"
    assert environment() == {"JAVA_TOOL_OPTIONS": option}
    assert environment(JAVA_TOOL_OPTIONS="-Xmx1g") == {"JAVA_TOOL_OPTIONS": f"-Xmx1g {option}"}
    assert environment("java -XX:ActiveProcessorCount=5 Main") == {}
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
        assert environment(**{name: "-XX:ActiveProcessorCount=5"}) == {}


@pytest.mark.parametrize("found", [None, msgspec.structs.replace(findings(), loads_later=True)])
def test_what_a_script_loads_is_unknown_so_all_variables_are_set(
    large: Machine, found: Findings | None
) -> None:
    guessed = fit_for(found, large, {})
    assert guessed.environment == dict.fromkeys(EVERYWHERE, "2")
    assert any("known only when it runs" in one for one in guessed.sentences) == (found is not None)
    others = fit_for(found, large, {"OMP_NUM_THREADS": "5", "GOMAXPROCS": "6"})
    assert others.environment == {"RAYON_NUM_THREADS": "2"}
    assert "left as you set it: OMP_NUM_THREADS=5, GOMAXPROCS=6" in others.sentences[0]


def test_every_runtime_with_a_pool_is_told_in_some_way(large: Machine) -> None:
    """A runtime that is added to the table gets a variable among the knobs, or is held by its CPUs."""
    counted = {need for knob in knobs().values() if knob.values == "threads" for need in knob.needs}
    for known in known_runtimes():
        if known.counts_cpus or known.counts_like or known.name in counted:
            found = fit_for(findings(known.name), large, {})
            assert found.environment or len(found.cpus) == 2, known.name


def test_a_program_without_a_runtime_runs_as_it_is(large: Machine) -> None:
    found = fit(["cat", "/dev/null"], large, {})
    assert (found.environment, found.cpus) == ({}, ())
    assert found.sentences == (
        "2 threads: the quota is 1.5 of 224 CPUs; no known runtime was found in cat, which runs as it is",
    )


def test_a_compiled_program_is_inspected_through_what_starts_it(large: Machine, tmp_path: Path) -> None:
    program = str(compiled("static_loop.c", tmp_path, "-fopenmp"))
    assert fit([program], large, {}).environment == {"OMP_NUM_THREADS": "2"}
    assert fit(["nice", "-n", "1", program], large, {}).environment == {"OMP_NUM_THREADS": "2"}
    inside = fit(["env", "OMP_NUM_THREADS=9", program], large, {})
    assert inside.environment == {}
    assert inside.sentences[0].endswith("left as you set it: OMP_NUM_THREADS=9")


def test_a_launcher_starts_the_ranks_and_nothing_is_set(large: Machine) -> None:
    found = fit_for(findings("libgomp", "openmpi", mpi="mpirun"), large, {})
    assert (found.environment, found.variables, found.cpus) == ({}, (), ())
    assert found.sentences == (
        "mpirun starts the ranks: 2 CPUs for all of them (the quota is 1.5 of 224 CPUs); nothing is set",
    )


# -- which CPUs --


def test_a_runtime_without_a_variable_gets_as_many_cpus(large: Machine) -> None:
    found = fit_for(findings("tbb", "libgomp"), large, {}, random.Random(1))
    assert found.environment == {"OMP_NUM_THREADS": "2"}
    first, second = found.cpus
    assert (first + 1) % 112 == second % 112  # neighbours, and one CPU of each core
    assert second < 112
    assert found.sentences == (
        "2 threads: the quota is 1.5 of 224 CPUs; OMP_NUM_THREADS; "
        "oneTBB counts the CPUs that it may use and has no variable, "
        f"so these are CPU {first}-{second} alone",
    )


def test_programs_that_are_started_one_after_another_do_not_share_their_cpus(large: Machine) -> None:
    starts = {fit_for(findings("tbb"), large, {}).cpus for _ in range(50)}
    assert len(starts) > 20  # of 112; fewer would be a chance of one in 10^13


def test_cpus_are_fast_ones_and_of_different_cores_while_there_are_enough(
    machine_of: Callable[[str], Machine],
) -> None:
    place = place_of(machine_of("i9_14900k"))
    for wanted, allowed in ((8, set(place.fast_cores)), (12, set(place.fast)), (20, set(place.one_a_core))):
        for seed in range(20):
            chosen = some_cpus(place, wanted, random.Random(seed))
            assert len(set(chosen)) == wanted
            assert set(chosen) <= allowed
    assert some_cpus(place, 32, random.Random(0)) == tuple(range(32))


def test_a_runtime_that_counts_a_mask_of_the_user_needs_no_other(tmp_path: Path) -> None:
    found = fit_for(findings("tbb"), read_machine(root=limited(tmp_path, allowed="3,4")), {})
    assert found.cpus == ()
    assert found.sentences == ("2 threads: 2 of 16 CPUs may be used; oneTBB counts the CPUs that it may use",)


def test_unequal_cores_are_named_where_a_static_loop_would_wait(
    machine_of: Callable[[str], Machine],
) -> None:
    hybrid = machine_of("i9_14900k")

    def remarks(found: Findings, machine: Machine = hybrid) -> list[str]:
        return [one for one in fit_for(found, machine, {}).sentences if "unequal" in one]

    (said,) = remarks(findings("libgomp"))
    assert said.startswith("the cores are unequal (P: CPU 0-15, E: CPU 16-31): a static OpenMP loop waits ")
    assert "tauto balance" in said
    assert "tauto tune" in said
    assert remarks(findings("libgomp", static=False)) == []
    assert remarks(findings("go")) == []
    assert remarks(findings("libgomp"), machine_of("two_sockets")) == []
    fast = msgspec.structs.replace(hybrid, allowed_cpus=(0, 2, 4), usable_members=3)
    assert remarks(findings("libgomp"), fast) == []


# -- the forms --


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Machine], None]:
    """Lets the command line find another machine than this one."""
    for name in (*EVERYWHERE, "JAVA_TOOL_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    return lambda machine: monkeypatch.setattr("tautochrone.machine.probe.read_machine", lambda how: machine)


def test_forms_for_services(
    large: Machine, on: Callable[[Machine], None], capsys: pytest.CaptureFixture[str]
) -> None:
    on(large)

    def printed(form: str, *words: str) -> str:
        assert main.main(["run", "--fit", "-q", "--print", form, *words]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    assert printed("env") == "".join(f"{name}=2\n" for name in EVERYWHERE)
    assert printed("slurm") == "".join(f"export {name}=2\n" for name in EVERYWHERE)
    assert printed("env", "--", "cat") == ""
    head = "env:\n- name: CPU_LIMIT\n  valueFrom:\n    resourceFieldRef:\n      resource: limits.cpu\n"
    names = "".join(f"- name: {name}\n  value: $(CPU_LIMIT)\n" for name in EVERYWHERE)
    assert printed("kubernetes") == head + names
    assert printed("kubernetes", "--", "cat") == ""
    unit = printed("systemd", "--", "cat", "a b").splitlines()
    assert unit[0] == "[Service]"
    assert unit[-1] == f'ExecStart={TAUTO} run --fit -- {run_to_end(["which", "cat"]).stdout.strip()} "a b"'


def test_the_form_of_kubernetes_does_not_depend_on_the_machine_where_it_is_printed(
    machine_of: Callable[[str], Machine], on: Callable[[Machine], None], capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine_of("two_sockets"))
    assert main.main(["run", "--fit", "--print", "kubernetes"]) == 0
    assert capsys.readouterr().out.count("$(CPU_LIMIT)") == len(EVERYWHERE)


def test_a_printed_profile_runs_the_command_so_again(
    large: Machine,
    on: Callable[[Machine], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    on(large)
    command = ["sh", "-c", "echo $OMP_NUM_THREADS"]
    assert main.main(["run", "--fit", "--print", "profile", "--", *command]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("tauto: 2 threads: the quota is 1.5 of 224 CPUs; OMP_NUM_THREADS, ")
    (tmp_path / "profile.json").write_text(said.out)
    assert run_to_end([TAUTO, "run", tmp_path, "--", *command]).stdout == "2\n"


def test_a_dry_run_says_what_would_be_set(
    large: Machine, on: Callable[[Machine], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on(large)
    assert main.main(["run", "--fit", "--dry-run", "--", "touch", str(tmp_path / "ran")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("2 threads: the quota is 1.5 of 224 CPUs; no known runtime was found in touch")
    assert said.err == ""
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--fit", "no command stands behind --fit. Write it like tauto run --fit -- ./solver"),
        ("--fit --", "no command stands behind --fit"),
        ("--fit --dry-run", "no command stands behind --fit"),
        ("--fit --print systemd", "--print systemd starts a command, and there is none"),
        ("--fit --print profile", "--print profile starts a command, and there is none"),
        ("--fit --print yaml -- true", "'yaml' is not one of 'env', 'slurm', 'systemd', 'kubernetes'"),
        ("--fit --trust -- true", "--trust is for profiles, and --fit has none"),
        ("--trust --fit -- true", "--trust is for profiles, and --fit has none"),
        ("--trust", "no profile was given"),
        ("--fit --dry-run -- ./no-such-program", "there is no command './no-such-program'"),
        ("--fit --dyr-run -- true", "there is no option --dyr-run"),
        ("--dry-run -- true", "--dry-run shows what --fit sets, and there is no --fit"),
        ("--print env -- true", "--print shows what --fit sets, and there is no --fit"),
        ("profile.json --fit -- true", "both the profile profile.json and --fit say what is set"),
        ("--fit -- /", "cannot be started: it is a folder"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(words: str, said: str) -> None:
    done = started(*words.split())
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tauto: error: ")
    assert said in done.stderr


# -- the program in the place of tauto --


def started(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """``tauto run`` with these words, on the machine of now, whose laboratory is this one."""
    python = Path(sys.executable).parent
    usual = {"env": with_lab(PATH=f"{python}:{os.environ['PATH']}")}
    return run_to_end([TAUTO, "run", *words], **(usual | options))


def on_tree(folder: Path, tree: Path) -> dict[str, str]:
    """The environment in which tauto's probe reads that tree instead of this machine."""
    probe = folder / "runners" / "tauto-probe"
    probe.parent.mkdir()
    probe.write_text(f'#!/bin/sh\nexec {shlex.quote(str(runners.find("tauto-probe")))} "$@" --root {tree}\n')
    probe.chmod(0o755)
    (probe.parent / "tauto").symlink_to(TAUTO)
    python = Path(sys.executable).parent
    return with_lab(TAUTO_RUNNERS=str(probe.parent), PATH=f"{python}:{os.environ['PATH']}")


@pytest.fixture
def container(tmp_path: Path) -> dict[str, str]:
    """The environment of a container with 1.5 of 224 CPUs."""
    return on_tree(tmp_path, trees.build("large_container", tmp_path))


def test_the_program_gets_the_threads_and_a_line_says_so(container: dict[str, str], tmp_path: Path) -> None:
    program = compiled("static_loop.c", tmp_path, "-fopenmp")
    shown = {**container, "OMP_DISPLAY_ENV": "true"}
    done = started("--fit", "--", program, "2", "10", env=shown)
    said = "tauto: 2 threads: the quota is 1.5 of 224 CPUs; OMP_NUM_THREADS"
    assert done.stderr.splitlines()[0] == said
    assert "OMP_NUM_THREADS = '2'" in done.stderr
    assert done.returncode == 0
    own = started("--fit", "--", program, "2", "10", env={**shown, "OMP_NUM_THREADS": "3"})
    assert "OMP_NUM_THREADS = '3'" in own.stderr
    quiet = started("--fit", "-q", program, "2", "10", env=container)
    assert (quiet.stderr, quiet.stdout) == ("", done.stdout)


def test_numpy_starts_no_more_threads_than_the_quota_pays_for(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    environment = on_tree(tmp_path, limited(tmp_path / "tree", "50000 100000"))
    line = "import numpy, os; print(len(os.listdir('/proc/self/task')))"
    assert started("--fit", "-q", "--", "python3", "-c", line, env=environment).stdout == "1\n"
    two = {**environment, "OPENBLAS_NUM_THREADS": "2"}
    if len(os.sched_getaffinity(0)) > 1:
        assert started("--fit", "-q", "--", "python3", "-c", line, env=two).stdout == "2\n"


@two_cpus
def test_a_program_with_onetbb_is_held_by_its_cpus(tmp_path: Path) -> None:
    loop = Path(FOLDER or "") / "tauto-loop-tbb"
    if not loop.exists() or not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("oneTBB's runner was not built, or CPU 0 or 1 may not be used")
    environment = on_tree(tmp_path, limited(tmp_path / "tree", "50000 100000", allowed="0-1"))
    job = tmp_path / "job"
    job.write_text(f"#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status\nexit\n{loop.resolve()}\n")
    job.chmod(0o755)
    done = started("--fit", "--", job, env=environment)
    cpu = done.stdout.split()[-1]
    assert cpu in ("0", "1")
    assert (
        f"oneTBB counts the CPUs that it may use and has no variable, so these are CPU {cpu}" in done.stderr
    )


def test_exit_code_streams_and_process_are_the_programs_own(container: dict[str, str]) -> None:
    line = "read word; echo $word $PPID; echo own >&2; exit 7"
    done = started("--fit", "-q", "--", "sh", "-c", line, input="in\n", env=container)
    assert (done.stdout, done.stderr, done.returncode) == (f"in {os.getpid()}\n", "own\n", 7)
    ended = started("--fit", "-q", "--", "sh", "-c", "kill -TERM $$", env=container)
    assert ended.returncode == -signal.SIGTERM


def test_nothing_else_of_the_environment_changes(container: dict[str, str]) -> None:
    """Python in a locale without a name sets LC_CTYPE, for itself alone."""
    plain = {name: container[name] for name in ("PATH", "PYTHONPATH", "TAUTO_RUNNERS")}
    done = started("--fit", "-q", "--", "sh", "-c", "env", env=plain)
    added = {line.partition("=")[0] for line in done.stdout.splitlines()} - plain.keys()
    assert added - {"PWD", "SHLVL", "OLDPWD", "_"} == set(EVERYWHERE)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_signals_are_handled_as_they_were(container: dict[str, str], handler: signal.Handlers) -> None:
    numbers = (signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ, signal.SIGHUP)

    def set_them() -> None:
        for number in numbers:
            signal.signal(number, handler)

    words = ["--fit", "-q", "--", "grep", "SigIgn", "/proc/self/status"]
    done = started(*words, env=container, preexec_fn=set_them, restore_signals=False)
    ignored = int(done.stdout.split()[1], 16)
    assert [bool(ignored >> (number - 1) & 1) for number in numbers] == [handler == signal.SIG_IGN] * 4


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_are_no_reason_not_to_run(
    container: dict[str, str], tmp_path: Path, closed: str
) -> None:
    line = f'exec "$0" run --fit -- sh -c "echo \\$GOMAXPROCS >ran" {closed}'
    assert run_to_end(["sh", "-c", line, TAUTO], env=container, cwd=tmp_path).returncode == 0
    assert (tmp_path / "ran").read_text() == "2\n"


def test_a_program_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    for word, why in (
        ("./no-such-program", "No such file or directory"),
        ("no-such-program", "No such file or directory"),
        ("./data", "Permission denied"),
    ):
        done = started("--fit", "--", word, cwd=tmp_path)
        assert done.returncode == 127
        start = f"tauto: error: {word} cannot be started: {why}. "
        assert done.stderr == f"{start}Write the command as the shell would find it\n"


def test_without_a_python_nothing_runs_and_it_says_so(tmp_path: Path) -> None:
    done = started("--fit", "--", "/usr/bin/touch", tmp_path / "ran", env={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert "python3 can be started neither beside tauto nor on the PATH" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_the_laboratory_hands_it_to_tauto(container: dict[str, str]) -> None:
    words = [sys.executable, "-m", "tautochrone", "run", "--fit", "-q", "--", "printenv", "GOMAXPROCS"]
    assert run_to_end(words, env={**container, "GOMAXPROCS": "9"}).stdout == "9\n"


def test_a_quiet_run_of_a_profile_says_nothing(tmp_path: Path) -> None:
    text = '{"schema": "tautochrone.profile/1", "environment": {"OMP_PLACES": "{1000}"}, '
    (tmp_path / "profile.json").write_text(text + '"command": [], "tuned_command": []}')
    for words in (["-q", tmp_path], [tmp_path, "--quiet"]):
        done = started(*words, "--", "echo", "ran")
        assert (done.stdout, done.stderr) == ("ran\n", "")
    assert "tauto: given: " in started(tmp_path, "--", "echo", "ran").stderr

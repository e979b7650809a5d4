"""tauto run: a profile is applied, what the kernel gave is looked at, and the command takes over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import run_to_end, with_lab
from runner_processes import FOLDER, needs_runners

pytestmark = [needs_runners, pytest.mark.timed]

TAUTO = Path(FOLDER or "").resolve() / "tauto"


def profile(folder: Path, **fields: Any) -> Path:
    usual = {"environment": {}, "cpus": None, "nice": None, "command": ["./solver"]}
    record = {"schema": "tautochrone.profile/1", "tuned_command": ["./solver"], **usual, **fields}
    path = folder / "profile.json"
    path.write_text(json.dumps(record))
    return path


def start(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_to_end(words, errors="surrogateescape", **options)


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return start(TAUTO, "run", *words)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2
    return done.stderr


def test_environment_cpus_and_priority_are_those_of_the_profile(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    path = profile(tmp_path, environment={"OMP_NUM_THREADS": "3"}, cpus=[cpu], nice=3)
    done = run(path, "--", "sh", "-c", "echo $OMP_NUM_THREADS; env -u OMP_NUM_THREADS nproc; nice; exit 7")
    nice = min(os.getpriority(os.PRIO_PROCESS, 0) + 3, 19)
    assert done.stdout.split() == ["3", "1", str(nice)]
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"tauto: given: CPU {cpu}, nice {nice}")
    assert done.stderr.endswith("; OMP_NUM_THREADS=3\n")
    assert done.returncode == 7


def with_python() -> dict[str, str]:
    """The laboratory, and the Python that has what it imports."""
    return with_lab(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


PARENT = 'tr "\\0" " " < /proc/$PPID/cmdline; exit 7'


@pytest.mark.parametrize("of_the_profile", [True, False])
def test_a_balanced_command_has_the_balancer_beside_it(tmp_path: Path, of_the_profile: bool) -> None:
    path = profile(tmp_path, environment={"X": "1"}, balance=of_the_profile)
    option = [] if of_the_profile else ["--balance"]
    done = start(TAUTO, "run", *option, path, "--", "sh", "-c", f"printenv X; {PARENT}", env=with_python())
    assert done.returncode == 7
    assert done.stdout.startswith("1\ntauto-balance -- ")


def test_a_command_is_balanced_without_a_profile_or_as_it_fits() -> None:
    for option in ([], ["--fit"]):
        done = start(TAUTO, "run", *option, "--balance", "--", "sh", "-c", PARENT, env=with_python())
        assert done.returncode == 7
        assert done.stdout.startswith("tauto-balance -- ")


def test_what_the_kernel_gave_is_said_where_it_is_something_else(tmp_path: Path) -> None:
    path = profile(tmp_path, cpus=[min(os.sched_getaffinity(0)), 1000])
    done = run(path, "--", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert f"tauto: given: CPU {done.stdout.split()[1]}, nice" in done.stderr
    assert "1000" not in done.stderr.splitlines()[-1]


def test_a_folder_stands_for_its_profile(tmp_path: Path) -> None:
    profile(tmp_path, environment={"X": "1"})
    assert run(tmp_path, "--", "printenv", "X").stdout == "1\n"


def test_nothing_of_ours_is_left_while_the_command_runs(tmp_path: Path) -> None:
    path = profile(tmp_path)
    done = run(path, "--", "sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline; echo; echo $PPID")
    command, parent = done.stdout.splitlines()
    assert command.startswith("sh -c")
    assert parent == str(os.getpid())


def test_words_of_the_tuned_command_are_replaced_and_another_command_is_refused(tmp_path: Path) -> None:
    path = profile(tmp_path, command=["echo", "-T4"], tuned_command=["echo", "-T{threads}"])
    assert run(path, "--", "echo", "-T{threads}").stdout == "-T4\n"
    said = refusal(run(path, "--", "echo", "other"))
    assert "is not the command that was tuned (echo -T{threads})" in said


@pytest.mark.parametrize("cpu", [1000, 65536, 2**31, 2**64 - 1])  # most of them no machine has
def test_cpus_that_are_not_here_are_an_error_and_a_warning_beside_others(tmp_path: Path, cpu: int) -> None:
    said = refusal(run(profile(tmp_path, cpus=[cpu]), "--", "true"))
    assert f"asks for CPU {cpu}, and CPU " in said
    assert "Tune the program again on this machine" in said
    here = min(os.sched_getaffinity(0))
    done = run(profile(tmp_path, cpus=[cpu, here, here]), "--", "echo", "ran")
    assert done.stdout == "ran\n"
    assert f"the kernel gave CPU {here} where {here},{cpu} was asked for" in done.stderr


@pytest.mark.parametrize("step", [2**31, 2**63, -(2**63)])
def test_a_step_of_niceness_beyond_all_priorities_ends_at_the_last_one(tmp_path: Path, step: int) -> None:
    done = run(profile(tmp_path, nice=step), "--", "nice")
    assert done.returncode == 0
    if step > 0:
        assert done.stdout == "19\n"
        assert "warning" not in done.stderr
    else:
        assert done.stderr.startswith("tauto: warning: ")


def test_places_outside_the_mask_are_a_warning(tmp_path: Path) -> None:
    done = run(profile(tmp_path, environment={"OMP_PLACES": "{0},{1000}"}), "--", "true")
    assert done.returncode == 0
    assert "OMP_PLACES names CPU 1000" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}", "has the schema None, expected 'tautochrone.profile/1'"),
        (b'{"schema": [1, true, 2.5, {"a": "it\'s"}]}', """has the schema [1, True, 2.5, {'a': "it's"}], """),
        (b'{"schema": "tautochrone.profile/2"}', "has the schema 'tautochrone.profile/2'"),
        (b"[]", "has the schema None"),
        (b"no", "it is not JSON"),
        (b"", "it is not JSON"),
        (b'{"schema": "tautochrone.profile/1"', "it is not JSON"),
        (b'{"schema": "\xff"}', "it is not JSON"),
        (b'{"schema": "\\ud800"}', "it is not JSON"),
        (b'{"cpus": 1e999}', "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "it is not JSON"),
    ],
)
def test_a_file_that_is_no_profile(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(text)
    found = refusal(run(path, "--", "true"))
    assert said in found
    assert found.count("\n") == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tuned_command", None),
        ("command", [1]),
        ("environment", {"A": 1}),
        ("environment", []),
        ("environment", {"A=B": "1"}),
        ("environment", {"": "1"}),
        ("environment", {"A": "nothing after this\0"}),
        ("command", ["echo\0"]),
        ("cpus", ["0"]),
        ("cpus", [True]),
        ("cpus", [-1]),
        ("cpus", [1.0]),
        ("cpus", [10**30]),
        ("cpus", {}),
        ("nice", "3"),
        ("nice", 3.0),
        ("nice", True),
        ("nice", -(10**30)),
        ("balance", "yes"),
        ("balance", 1),
    ],
)
def test_a_field_of_a_profile_that_is_not_what_it_should_be_is_named(
    tmp_path: Path, field: str, value: object
) -> None:
    said = refusal(run(profile(tmp_path, **{field: value}), "--", "true"))
    assert f"profile.json: {field} is not" in said
    assert said.count("\n") == 1


def test_a_profile_and_a_command_that_are_not_there(tmp_path: Path) -> None:
    said = "cannot be read: No such file or directory. tauto tune writes one into its folder\n"
    none = refusal(run(tmp_path / "none.json", "--", "true"))
    assert none == f"tauto: error: the profile {tmp_path}/none.json {said}"
    assert run(tmp_path, "--", "true").stderr == f"tauto: error: the profile {tmp_path}/profile.json {said}"
    assert "the profile  cannot be read" in run("", "--", "true").stderr
    for words in ([], ["--"]):
        assert "no command stands behind" in refusal(run(profile(tmp_path), *words))
    done = run(profile(tmp_path), "--", "./no-such-program")
    assert done.returncode == 127
    why = "./no-such-program cannot be started: No such file or directory"
    assert done.stderr.endswith(f"tauto: error: {why}. Write the command as the shell would find it\n")
    assert run(profile(tmp_path), "--", "").returncode == 127


def test_the_variables_are_said_in_their_order_and_the_last_of_a_name_counts(tmp_path: Path) -> None:
    path = profile(tmp_path, environment={"Z": "1", "A": "2"})
    path.write_text(path.read_text().replace('"A": "2"', '"A": "2", "Z": "3"'))
    done = run(path, "--", "sh", "-c", "echo $Z $A")
    assert done.stdout == "3 2\n"
    assert done.stderr.endswith("; Z=3 A=2\n")


def test_a_command_is_looked_for_before_the_profile_changes_the_path(tmp_path: Path) -> None:
    for name in ("printenv", "own-solver"):
        (tmp_path / name).write_text("#!/bin/sh\necho the wrong one\n")
        (tmp_path / name).chmod(0o755)
    path = profile(tmp_path, environment={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert run("--trust", path, "printenv", "PATH").stdout == f"{tmp_path}:/usr/bin:/bin\n"
    done = run(path, "--trust", "--", "own-solver")
    assert done.returncode == 127
    assert done.stderr.startswith("tauto: error: own-solver cannot be started: No such file or directory")
    environment = {**os.environ, "PATH": f"{tmp_path}::/bin"}
    assert start(TAUTO, "run", profile(tmp_path), "own-solver", env=environment).stdout == "the wrong one\n"
    (tmp_path / "own-solver").write_text("echo a script of no named shell $1\n")
    done = start(TAUTO, "run", profile(tmp_path), "own-solver", "x", env=environment)
    assert done.stdout == "a script of no named shell x\n"
    (tmp_path / "own-solver").chmod(0o644)
    done = start(TAUTO, "run", profile(tmp_path), "own-solver", env={"PATH": str(tmp_path)})
    assert "own-solver cannot be started: Permission denied" in done.stderr


@pytest.mark.parametrize(
    ("tuned", "command"),
    [
        (["ls", "-l"], ["/bin/sh", "-c", "echo evil"]),
        (["ls", "-l"], ["ls", "-l", "/etc"]),
        (["ls", "-l"], ["ls"]),
        (["ls", "-{n}l"], ["ls", "-1a"]),
        (["sh", "-c", "sleep {n}"], ["sh", "-c", "sleep 0; echo evil"]),
        (["tar", "{n}"], ["tar", "--checkpoint-action=exec=sh"]),
        (["awk", "{print}"], ["awk", "BEGIN{system(1)}"]),
    ],
)
def test_a_profile_changes_values_of_names_in_braces_and_no_other_words(
    tmp_path: Path, tuned: list[str], command: list[str]
) -> None:
    path = profile(tmp_path, tuned_command=tuned, command=command)
    said = refusal(run(path, "--", *tuned))
    assert "could run something else: it would run " in said
    assert "If you made it or have read it, write tauto run --trust\n" in said
    assert f"tauto: runs: {command[0]}" in run("--trust", path, "--", *tuned).stderr


def test_plain_values_of_names_in_braces_need_no_trust_and_the_command_is_shown(tmp_path: Path) -> None:
    tuned = ["echo", "-T{threads}", "{a}x{b}", "{print}", "a b"]
    command = ["echo", "-T4", "1.5x/tmp/f", "{print}", "a b"]
    done = run(profile(tmp_path, tuned_command=tuned, command=command), "--", *tuned)
    assert done.stdout == "-T4 1.5x/tmp/f {print} a b\n"
    assert done.stderr.endswith("\ntauto: runs: echo -T4 1.5x/tmp/f {print} 'a b'\n")


LOADING = """
LD_PRELOAD LD_AUDIT PATH PYTHONSTARTUP BASH_ENV BASH_FUNC_ls%% ENV GCONV_PATH NODE_OPTIONS PERL5OPT PERL5DB
RUBYOPT GLIBC_TUNABLES MALLOC_TRACE LESSOPEN JAVA_TOOL_OPTIONS OMP_TOOL_LIBRARIES QT_PLUGIN_PATH OMPI_MCA_x
GIT_SSH_COMMAND
"""


@pytest.mark.parametrize("name", LOADING.split())
def test_variables_that_make_programs_load_code_need_trust(tmp_path: Path, name: str) -> None:
    path = profile(tmp_path, environment={name: "/nowhere"})
    assert f"it sets {name}=/nowhere, and such variables" in refusal(run(path, "--", "true"))
    assert run(path, "--trust", "/bin/true").returncode == 0


def test_what_tune_tries_itself_needs_no_trust(tmp_path: Path) -> None:
    tried = {
        "OMP_NUM_THREADS": "2",
        "OMP_SCHEDULE": "dynamic,16",
        "KMP_BLOCKTIME": "0",
        "GOMP_SPINCOUNT": "1",
        "MALLOC_ARENA_MAX": "1",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "JAVA_TOOL_OPTIONS": "-XX:ActiveProcessorCount=2",
    }
    assert (
        run(profile(tmp_path, environment=tried), "--", "printenv", "OMP_SCHEDULE").stdout == "dynamic,16\n"
    )


def test_what_is_said_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    hidden = "a\x1b[2K\r\x1b[1A\x07\x9b\u202eb\u00e9\udcff"
    commands = {"tuned_command": ["echo", "{n}"], "command": ["echo", hidden]}
    path = profile(tmp_path, environment={"X": hidden}, **commands)
    done = run(path, "--trust", "--", "echo", "{n}")
    assert done.stdout == f"{hidden}\n".replace("\r", "\n")  # as Python reads text
    shown = r"a\x1b[2K\x0d\x1b[1A\x07\xc2\x9b\xe2\x80\xaeb" + "\u00e9" + r"\xff"
    assert f"; X={shown}\n" in done.stderr
    assert done.stderr.endswith(f"tauto: runs: echo {shown}\n")
    assert r"\x1b[2K" in refusal(run(path, "--", "echo", "{n}"))


@pytest.mark.parametrize(
    ("place", "why"),
    [("pipe", "it is not JSON"), ("/dev/zero", "it is a device"), ("large", "it is larger than 16 MiB")],
)
def test_a_profile_that_never_ends_is_refused(tmp_path: Path, place: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    assert why in refusal(run(tmp_path / place, "--", "true"))


def test_words_and_values_that_are_not_utf_8_reach_the_command_as_they_were(tmp_path: Path) -> None:
    word = os.fsdecode(b"caf\xe9\x80")  # as Python writes such a file's name: with lone surrogates
    value = word + "\U0001f600\\udcff"
    commands = {"command": ["printenv", "X"], "tuned_command": ["printenv", word]}
    path = profile(tmp_path, environment={"X": value}, **commands)
    assert run(path, "--trust", "--", "printenv", word).stdout == f"{value}\n"


def test_a_pipe_may_hold_the_profile(tmp_path: Path) -> None:
    profile(tmp_path, environment={"X": "1"})
    line = 'exec "$0" run <(cat profile.json) -- printenv X'
    assert start("bash", "-c", line, TAUTO, cwd=tmp_path).stdout == "1\n"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_are_no_reason_not_to_run(tmp_path: Path, closed: str) -> None:
    line = f'exec "$0" run "$1" -- sh -c "echo ran >ran" {closed}'
    assert start("sh", "-c", line, TAUTO, profile(tmp_path), cwd=tmp_path).returncode == 0
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_nobody_reading_what_it_says_is_no_reason_not_to_run(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [TAUTO, "run", profile(tmp_path), "--", "sh", "-c", "echo ran; kill -PIPE $$; echo ran on"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, timeout=60, check=False)
    os.close(writing)
    assert done.stdout == b"ran\n"  # and the command's signals are as they were


def test_an_empty_environment_is_enough(tmp_path: Path) -> None:
    path = profile(tmp_path, environment={"X": "1"})
    assert start(TAUTO, "run", path, "--", "env", env={}).stdout == "X=1\n"


@pytest.mark.parametrize("words", [["run"], ["run", "--"]])
def test_the_laboratory_hands_a_profile_to_tauto(tmp_path: Path, words: list[str]) -> None:
    profile(tmp_path, environment={"X": "1"}).rename(tmp_path / "p.json")
    command = [sys.executable, "-m", "tautochrone", *words, "p.json", "printenv", "X"]
    done = start(*command, env=with_lab(), cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("1\n", 0), done.stderr
    (tmp_path / "p.json").rename(tmp_path / "-p.json")
    command[-3] = "-p.json"
    assert start(*command, env=with_lab(), cwd=tmp_path).stdout == "1\n"


# -- what is not for tauto run goes to the laboratory --


def beside(folder: Path, script: str, name: str = "python3") -> Path:
    """A copy of tauto with a Python beside it, or in another folder, that is a shell script."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return Path(shutil.copy(TAUTO, folder))


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--version"], []])
def test_help_and_version_need_no_python_and_are_the_laboratorys_bytes(words: list[str]) -> None:
    own = start(TAUTO, *words, env={"PATH": ""})
    lab = start(sys.executable, "-m", "tautochrone", *words, env=with_lab())
    assert (own.returncode, own.stdout, own.stderr) == (lab.returncode, lab.stdout, lab.stderr)
    assert own.returncode == (0 if words else 2)


def test_a_command_is_balanced_without_python(tmp_path: Path) -> None:
    words = (
        "--json",
        f"--report={tmp_path / 'answer'}",
        "-q",
        "--",
        "/bin/sh",
        "-c",
        "echo $1 $0; exit 7",
        "b",
        "a",
    )
    shutil.copy(TAUTO, tmp_path)
    for name in ("tauto-balance", "tauto-nothing", "libtauto-waits.so"):
        (tmp_path / name).symlink_to(TAUTO.with_name(name))
    for front in (("balance",), ("run", "--balance")):
        behind = words if front == ("balance",) else words[words.index("--") :]
        done = start(tmp_path / "tauto", *front, *behind, env={"PATH": ""})
        assert (done.returncode, done.stdout) == (7, "a b\n"), done.stderr
        assert done.stderr.count("\n") == 1
    assert json.loads((tmp_path / "answer").read_text())["schema"] == "tautochrone.balance/1"


def test_help_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([TAUTO, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert refusal(done).startswith("tauto: error: the text could not be written: No space left on device")


@pytest.mark.parametrize("name", ["python3", "python"])
def test_the_python_beside_it_gets_all_words(tmp_path: Path, name: str) -> None:
    tauto = beside(tmp_path / "a b", 'echo "$0"; shift 2; printf "%s|" "$@"', name)
    (tmp_path / "link").symlink_to(tauto)
    for words in (["study", "a b", ""], ["run"], ["run", "--hlep"], ["run", "-x", "y"]):
        expected = f"{tauto.parent / name}\n{''.join(f'{word}|' for word in words)}"
        assert start(tmp_path / "link", *words).stdout == expected


def test_without_one_beside_it_the_python_of_the_path_does(tmp_path: Path) -> None:
    beside(tmp_path / "path", "echo of the path")
    tauto = beside(tmp_path / "own", "", "other")
    assert start(tauto, "study", env={"PATH": str(tmp_path / "path")}).stdout == "of the path\n"
    done = start(tauto, "study", env={"PATH": str(tmp_path)})
    assert refusal(done) == (
        "tauto: error: python3 can be started neither beside tauto nor on the PATH: "
        "No such file or directory. Install Python 3.11 or newer, "
        "and the package tautochrone in it (pip install .)\n"
    )


def test_a_python_without_the_package_is_named_with_a_remedy(tmp_path: Path) -> None:
    tauto = beside(tmp_path / "own", f"unset PYTHONPATH; exec '{sys.executable}' -S \"$@\"")
    said = refusal(start(tauto, "version", cwd=tmp_path))
    assert said.startswith("tauto: error: /")
    assert "has no package tautochrone. Install it there (pip install .)" in said
    assert said.count("\n") == 1


def test_modules_of_the_current_folder_are_not_loaded(tmp_path: Path) -> None:
    tauto = beside(tmp_path / "own", f"exec '{sys.executable}' \"$@\"")
    for name in ("random", "typer", "tautochrone"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    done = start(tauto, "version", env=with_lab(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tauto")


def test_without_proc_tauto_finds_itself_as_it_was_started(tmp_path: Path) -> None:
    """A chroot often has no /proc; a wrapper that hides it stands for one."""
    tauto = beside(tmp_path / "own", 'echo "$0"')
    hidden = ["unshare", "--mount", "sh", "-c", 'umount -l /proc; exec "$0" study']
    if start("unshare", "--mount", "true").returncode != 0:
        pytest.skip("mounts may not be changed here")
    for word, folder in ((str(tauto), "/"), ("./tauto", tauto.parent), ("tauto", tauto.parent)):
        environment = {**os.environ, "PATH": f"{tauto.parent}:{os.environ['PATH']}"}
        done = start(*hidden, word, cwd=folder, env=environment)
        assert done.stdout == f"{tauto.parent}/python3\n", done.stderr

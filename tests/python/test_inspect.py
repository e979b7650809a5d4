"""tauto inspect: what is behind a command line, and what its files and a run of it tell."""

from __future__ import annotations

import json
import os
import shlex
import struct
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.inspection.findings import INSIDE, LINKED, LOADED, inspect, known_runtimes
from tautochrone.inspection.watching import watch
from tautochrone.programs.commands import behind, mpi_launch
from tautochrone.programs.elf import find_library, read_elf
from tune_fakes import DAEMON, compiled, here, holding

pytestmark = pytest.mark.timed


@pytest.mark.parametrize(
    ("words", "programs", "through"),
    [
        ("sh -c true", ["true"], ["sh"]),
        ("bash -lc sleep", ["sleep"], ["bash"]),
        ("bash -euo pipefail -c sleep", ["sleep"], ["bash"]),
        ("env A=1 B=2 nice -n 5 sleep 1", ["sleep"], ["env", "nice"]),
        ("taskset -c 0,1 sleep 1", ["sleep"], ["taskset"]),
        ("timeout -k 5 10 sleep 1", ["sleep"], ["timeout"]),
        ("sleep 1", ["sleep"], []),
    ],
)
def test_the_program_behind_a_command(words: str, programs: list[str], through: list[str]) -> None:
    found = behind(words.split())
    assert [path.name for path in found.programs] == programs
    assert list(found.through) == through


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the PATH, with launchers that do nothing."""
    for launcher in ("mpirun", "mpiexec.hydra", "srun", "aprun"):
        executable(tmp_path / launcher)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.usefixtures("path")
def test_the_program_behind_an_mpi_launcher_and_its_options() -> None:
    found = behind(shlex.split("mpirun -n 4 --bind-to core --mca btl self -x OMP_NUM_THREADS=2 sleep 1"))
    assert [path.name for path in found.programs] == ["sleep"]
    assert found.mpi_launcher == "mpirun"


@pytest.mark.parametrize(
    "words",
    [
        "srun -p debug -A account -t 10:00 -w node1 -J name -n 2 sleep 1",
        "srun -N1 --partition debug --time=5 --mem 4G -H -X sleep 1",
        "srun -x node7 --exclusive sleep 1",
        "mpiexec.hydra -f hosts -n 2 sleep 1",
        "mpirun -hosts a,b -x A=1 sleep 1",
        "aprun -n 4 -d 2 -cc cpu sleep 1",
    ],
)
def test_values_of_a_launchers_options_are_not_the_program(words: str, path: Path) -> None:
    for other in ("debug", "account", "hosts", "4G"):
        executable(path / other)
    assert [path.name for path in behind(words.split()).programs] == ["sleep"]
    launch = mpi_launch(words.split())
    assert launch is not None
    assert words.split()[launch.program] == "sleep"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("mpirun -n 2 sleep 1 : -n 1 --bind-to core sort file", ["sleep", "sort"]),
        ("mpirun -n 2 env A=1 sleep 1 : -n 1 true : cat", ["env", "true", "cat"]),
        ("aprun -n 2 sleep 1 : -n 1 sort", ["sleep", "sort"]),
        ("srun -n 2 sleep :", ["sleep"]),
    ],
)
@pytest.mark.usefixtures("path")
def test_the_programs_between_colons(words: str, parts: list[str]) -> None:
    launch = mpi_launch(words.split())
    assert launch is not None
    assert [words.split()[program] for _, program in launch.parts] == parts
    assert launch.several == (len(parts) > 1)
    found = behind(words.split())
    assert [path.name for path in found.programs] == [one if one != "env" else "sleep" for one in parts]
    assert found.mpi_launcher == words.split()[0]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("srun -n 4 --multi-prog programs", "# all\n0-2 sleep %t\n3 sort file\n"),
        ("mpirun --app programs", "-n 3 sleep 1\n-n 1 --bind-to core sort file\n"),
    ],
)
def test_the_programs_that_a_file_names(
    words: str, text: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path)
    with pytest.raises(TautoError, match=r"cannot be read from programs.*write the programs into the comm"):
        behind(words.split())
    (path / "programs").write_text(text)
    assert [path.name for path in behind(words.split()).programs] == ["sleep", "sort"]
    launch = mpi_launch(words.split())
    assert launch is not None
    assert launch.several


def test_the_programs_that_a_script_names(tmp_path: Path) -> None:
    text = "#!/bin/sh\n# a job\nexport A=1\nA=2 sleep 0 && sort -n /dev/null\n"
    found = behind([str(executable(tmp_path / "job", text))])
    assert [path.name for path in found.programs] == ["sleep", "sort"]
    assert found.is_script


def test_a_script_with_a_word_like_an_option_of_the_shell_is_still_the_script(tmp_path: Path) -> None:
    script = executable(tmp_path / "job", "#!/bin/sh\nsort -n /dev/null\n")
    assert [path.name for path in behind(["sh", "-e", str(script), "-c", "sleep"]).programs] == ["sort"]


def test_a_command_of_a_script_goes_on_in_the_next_line(path: Path) -> None:
    """The launcher's line, which ended in a backslash, was not read at all."""
    script = executable(path / "job", "#!/bin/sh\nmpirun -n 2 \\\n  sort \\\n  -n\n")
    found = behind([str(script)])
    assert found.mpi_launcher == "mpirun"
    assert [path.name for path in found.programs] == ["sort"]


@pytest.mark.parametrize("first", ["./me.sh", "exec ./me.sh", "mpirun ./me.sh : ./other.sh", "./other.sh"])
def test_scripts_that_name_themselves_and_each_other_are_read_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.chdir(path)
    executable(path / "me.sh", f"#!/bin/sh\n{first}\nsort\n")
    executable(path / "other.sh", "#!/bin/sh\n./me.sh\n./other.sh\nsleep 1\n")
    (path / "link.sh").symlink_to("me.sh")
    for words in (["./me.sh"], ["./link.sh"], ["sh", "me.sh"]):
        names = {program.name for program in behind(words).programs}
        assert names == ({"sort", "sleep"} if "other" in first else {"sort"})


def test_more_wrappers_than_anybody_writes_are_refused() -> None:
    assert [program.name for program in behind([*["env"] * 50, "sleep"]).programs] == ["sleep"]
    with pytest.raises(TautoError, match="env is started through more than 64 other commands"):
        behind([*["env"] * 5000, "sleep"])


def test_a_pipe_a_device_and_a_file_without_end_in_place_of_a_program_or_a_list(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path)
    os.mkfifo("fifo")
    Path("fifo").chmod(0o755)
    assert inspect(["./fifo"], here()).programs == ("fifo",)
    for name in ("fifo", "/dev/zero"):
        with pytest.raises(TautoError, match=f"cannot be read from {name}.*a pipe or a device"):
            behind(["mpirun", "-app", name])


@pytest.mark.parametrize("name", ["n" * 300, "a/" * 3000, "x\0y"])
def test_names_that_no_file_can_have_are_not_found(name: str) -> None:
    for word in (name, f"./{name}"):
        with pytest.raises(TautoError, match="there is no command"):
            behind([word])
    assert find_library(name, ["/lib"]) is None


def test_a_command_that_is_not_there_says_how_to_write_it() -> None:
    with pytest.raises(TautoError, match=r"there is no command 'no-such-program'.*with its path"):
        behind(["no-such-program"])


def test_a_file_that_is_not_executable_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1")
    with pytest.raises(TautoError, match=r"not executable.*chmod"):
        behind([str(tmp_path / "data")])


def test_static_loops_of_gcc_ask_nobody(tmp_path: Path) -> None:
    found = inspect([str(compiled("static_loop.c", tmp_path, "-fopenmp"))], here())
    assert [(one.name, one.how) for one in found.runtimes if one.name == "libgomp"] == [("libgomp", LINKED)]
    assert found.schedules.has_static_loops is True
    assert found.schedules.asks_environment is False
    assert any(said.startswith("GCC has compiled equal shares") for said in found.balancing)


def test_loops_with_schedule_runtime_ask_the_environment(tmp_path: Path) -> None:
    found = inspect([str(compiled("runtime_loop.c", tmp_path, "-fopenmp"))], here())
    assert found.schedules.asks_environment is True
    assert "GOMP_" in found.schedules.evidence


@pytest.mark.parametrize(("source", "asks"), [("static_loop.c", False), ("runtime_loop.c", True)])
def test_clang_passes_the_schedule_as_an_argument(tmp_path: Path, source: str, asks: bool) -> None:
    library = "-Wl,-l:libomp.so.5"
    program = compiled(
        source, tmp_path, "-fopenmp", "-nodefaultlibs", library, "-lc", "-lm", compiler="clang"
    )
    found = inspect([str(program)], here())
    assert found.has("libomp")
    assert not found.has("libgomp")
    assert found.schedules.asks_environment is asks
    assert any("(LLVM's OpenMP)" in said for said in found.balancing) is not asks


def test_a_file_of_debug_information_alone_is_read(tmp_path: Path) -> None:
    """Its dynamic section has no bytes in the file."""
    program = compiled("static_loop.c", tmp_path, "-fopenmp", "-g")
    subprocess.run(["objcopy", "--only-keep-debug", program, tmp_path / "debug"], check=True)
    whole, debug = read_elf(program), read_elf(tmp_path / "debug")
    assert whole is not None
    assert debug is not None
    assert "libgomp.so.1" in whole.needed
    assert whole.interpreter is not None
    assert {"GOMP_parallel", "omp_get_num_threads"} & whole.openmp_names
    assert debug.needed == ()
    assert debug.openmp_names  # of its own table of symbols


def test_a_file_that_says_it_is_larger_than_it_is_takes_no_memory(tmp_path: Path) -> None:
    """A table of symbols of 6 GB without bytes in the file once took 6 GB."""
    program = compiled("static_loop.c", tmp_path, "-fopenmp")
    data = bytearray(program.read_bytes())
    sections_at, section_bytes = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 58)[0]
    for place in range(sections_at, len(data), section_bytes):
        struct.pack_into("<Q", data, place + 32, 6 << 30)
    (tmp_path / "bomb").write_bytes(data)
    with (tmp_path / "bomb").open("r+b") as file:
        file.truncate(60 << 30)
    tracemalloc.start()
    found = read_elf(tmp_path / "bomb")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert "libgomp.so.1" in found.needed
    assert peak < 64 << 20


def test_openmp_that_is_linked_statically_is_found_inside(tmp_path: Path) -> None:
    found = inspect([str(compiled("static_loop.c", tmp_path, "-fopenmp", "-static"))], here())
    assert found.linked_statically
    assert [(one.name, one.how) for one in found.runtimes] == [("libgomp", INSIDE)]
    assert found.schedules.has_static_loops is True
    assert any("LD_PRELOAD" in note for note in found.notes)
    assert any("is linked statically, so nothing can be preloaded" in said for said in found.balancing)


def test_where_its_threads_wait_for_each_other_is_said_beforehand(tmp_path: Path) -> None:
    said = inspect([str(compiled("waits.c", tmp_path, "-pthread"))], here()).balancing
    assert any("in barriers, condition variables and semaphores: who waits can lend" in one for one in said)
    alone = inspect([str(compiled("static_loop.c", tmp_path, "-fopenmp"))], here()).balancing
    assert not any("wait for each other in" in one for one in alone)


def test_what_keeps_threads_where_they_are_is_said_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("static_loop.c", tmp_path, "-fopenmp")
    monkeypatch.setenv("OMP_PROC_BIND", "false")
    unpinned = inspect([str(program)], here())
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    pinned = inspect([str(program)], here())
    assert set(pinned.balancing) - set(unpinned.balancing) == {
        "OMP_PROC_BIND pins its threads, which then stay where they are, but for --even-pinned"
    }
    program.chmod(0o4755)
    owned = inspect([str(program)], here())
    assert any("with the rights of its owner, so nothing" in said for said in owned.balancing)


@pytest.mark.parametrize(
    ("mark", "runtime"), [("RAYON_NUM_THREADS", "rayon"), ("GOMAXPROCS", "go"), ("NOTHING_OF_THE_KIND", None)]
)
def test_runtimes_of_rust_and_go_are_found_by_their_marks(
    mark: str, runtime: str | None, tmp_path: Path
) -> None:
    found = inspect([str(compiled("mark.c", tmp_path, f'-DMARK="{mark}"'))], here())
    marked = [one for one in found.runtimes if one.how == INSIDE]
    assert [one.name for one in marked] == ([runtime] if runtime else [])


def test_openblas_is_said_to_leave_slow_cpus_out_unless_a_number_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("mark.c", tmp_path, '-DMARK="OPENBLAS_NUM_THREADS"')
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert any("it starts fewer threads where" in said for said in inspect([str(program)], here()).balancing)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    chosen = inspect([str(program)], here()).balancing
    assert any("with OMP_NUM_THREADS set, it cannot leave those CPUs out" in said for said in chosen)


def test_java_is_said_to_load_its_machine_when_it_runs(path: Path) -> None:
    compiled("mark.c", path, '-DMARK="java"').rename(path / "java")
    assert any("add --run" in one for one in inspect(["java", "Main"], here()).notes)


def test_java_is_known_by_the_library_that_starts_its_machine(tmp_path: Path) -> None:
    """As a JDK has it: java in one folder, libjli beside that, and a link to java elsewhere."""
    for name in ("bin", "lib"):
        (tmp_path / name).mkdir()
    library = compiled("mark.c", tmp_path / "lib", '-DMARK=""', "-shared", "-fPIC")
    library.rename(tmp_path / "lib" / "libjli.so")
    linked = ["-Wl,--no-as-needed", f"-L{tmp_path}/lib", "-l:libjli.so", "-Wl,-rpath,$ORIGIN/../lib"]
    program = compiled("mark.c", tmp_path / "bin", '-DMARK="java"', *linked)
    (tmp_path / "java").symlink_to(program)
    assert inspect([str(tmp_path / "java")], here()).has("jvm")


def test_a_shell_alone_is_an_interpreter() -> None:
    assert inspect(["bash"], here()).loads_later
    assert not inspect(["cat"], here()).loads_later


def test_a_program_without_openmp_has_none(tmp_path: Path) -> None:
    found = inspect([str(compiled("static_loop.c", tmp_path))], here())
    assert not found.has_openmp
    assert found.schedules.asks_environment is False


def test_what_a_script_loads_is_seen_when_it_runs(tmp_path: Path) -> None:
    program = compiled("static_loop.c", tmp_path, "-fopenmp")
    script = executable(tmp_path / "job", f'#!/bin/sh\nname={program}\n"$name" 20 14000\n')
    unseen = inspect([str(script)], here())
    assert not unseen.has("libgomp")
    assert any("--run" in note for note in unseen.notes)
    seen = inspect([str(script)], here(), watch([str(script)], 60))
    assert [(one.name, one.how) for one in seen.runtimes if one.name == "libgomp"] == [("libgomp", LOADED)]
    assert seen.schedules.has_static_loops is True


def test_a_daemon_is_noticed_and_ended() -> None:
    seen = watch(["sh", "-c", DAEMON], 60)
    assert seen.left_running == ("sleep",)
    assert seen.seconds < 30


def test_the_memory_and_threads_of_all_processes_are_seen(tmp_path: Path) -> None:
    one = holding(20, tmp_path, 2)
    seen = watch(["sh", "-c", f"{one} & {one} & wait"], 60)
    assert seen.peak_bytes > 40 << 20
    assert seen.most_threads == 3  # the shell's too
    assert any("libc.so" in one for one in seen.files)


def test_a_run_that_takes_too_long_is_stopped() -> None:
    seen = watch(["sleep", "30"], 0.1)
    assert seen.stopped
    assert seen.left_running == ()


def test_inspect_prints_json_or_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tautochrone.inspection.command.read_machine", lambda measure: here())
    assert main(["inspect", "--json", "--", "sleep", "0"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "tautochrone.inspection/1"
    assert said["programs"][0].endswith("sleep")
    assert said["schedules"]["asks_environment"] is False
    assert main(["inspect", "--", "sleep", "0"]) == 0
    table = capsys.readouterr().out
    assert "loops ask for their schedule" in table
    assert "glibc" in table


@pytest.mark.parametrize(
    ("library", "runtime"),
    [
        ("libgomp.so.1", "libgomp"),
        ("libgomp-a34b3233.so.1.0.0", "libgomp"),
        ("libomp.so.5", "libomp"),
        ("libiomp5.so", "libomp"),
        ("libtbb.so.12", "tbb"),
        ("libopenblas.so.0", "openblas"),
        ("libscipy_openblas64_-56d6093b.so", "openblas"),
        ("libmkl_core.so.2", "mkl"),
        ("libblis.so.4", "blis"),
        ("libmpi.so.40", "openmpi"),
        ("libmpich.so.12", "mpich"),
        ("libQt6Core.so.6", "qt"),
        ("libjvm.so", "jvm"),
    ],
)
def test_each_library_is_known_by_its_name(library: str, runtime: str) -> None:
    assert [one.name for one in known_runtimes() if one.library.search(library)] == [runtime]

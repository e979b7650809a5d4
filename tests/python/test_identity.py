"""What was measured is known by its bytes: another build under the same name never goes on with old rows."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from measuring import MACHINE, configuration, plan
from mock_executor import MockExecutor
from tautochrone.errors import TautoError
from tautochrone.measuring import identity
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.identity import (
    as_before,
    files_of,
    fingerprint,
    identity_of,
    named_files,
    started_files,
    status_of,
)
from tautochrone.measuring.measure import run_plan
from tautochrone.programs import elf
from tautochrone.results.journal import Journal
from tautochrone.results.store import Store
from tautochrone.tune.options import TuneRequest
from tune_fakes import real_services, tune_by_runs

pytestmark = pytest.mark.timed  # which libraries there are is asked of ldconfig, once
NOW = VirtualClock().now()


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def names(*command: str, **environment: str) -> list[str]:
    return [path.name for path in files_of(command, environment, named_files(command))]


def test_a_program_has_the_libraries_that_the_loader_takes() -> None:
    found = names(shutil.which("sh") or "sh")
    assert found[0] == "sh"
    assert "libc.so.6" in found


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM, errno.EAGAIN, errno.EIO])
@pytest.mark.parametrize("call", ["elf.subprocess.run", "elf.opened", "identity.hashlib.file_digest"])
def test_what_cannot_be_read_for_a_moment_is_not_left_out(
    monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    """Rows without a library would not go on once it can be read."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    folder = "programs" if call.startswith("elf") else "measuring"
    monkeypatch.setattr(elf, "_cache", elf._cache.__wrapped__)
    monkeypatch.setattr(f"tautochrone.{folder}.{call}", refused)
    with pytest.raises(OSError, match=os.strerror(code)):
        identity_of(files_of(["sleep", "1"], {}))


def test_a_system_without_ldconfig_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file")

    monkeypatch.setattr(elf, "_cache", elf._cache.__wrapped__)
    monkeypatch.setattr(elf.subprocess, "run", missing)
    assert Path(shutil.which("sleep") or "") in files_of(["sleep", "1"], {})


def test_a_script_has_its_interpreter_and_the_programs_that_it_names(tmp_path: Path) -> None:
    found = names(str(script(tmp_path / "run.sh", "sort input")))
    assert found[:2] == ["run.sh", "sh"]
    assert "sort" in found


def test_a_wrapper_has_what_it_wraps(tmp_path: Path) -> None:
    found = names("nice", "env", "A=b", str(script(tmp_path / "run.sh", "true")))
    assert found[0] == "nice"
    assert {"env", "run.sh", "true"} <= {*found}


def test_files_that_are_words_belong_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("case.in", "other.in"):
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe")
    words = ["cat", "case.in", "--with=other.in", "absent.in", "pipe", ".", "a\0b"]
    before = {path: status_of(path) for path in named_files(words)}
    assert [path.name for path in before] == ["case.in", "other.in"]
    Path("other.in").write_text("of a run")
    assert [*as_before(before)] == [Path("case.in")]
    assert Path("case.in") in files_of(words, {}, as_before(before))


def test_a_library_that_is_loaded_first_belongs_to_a_runner(tmp_path: Path) -> None:
    library = next(path for path in files_of(["sh"], {}) if path.name == "libc.so.6")
    other = Path(shutil.copy(library, tmp_path / "libother.so"))
    runs = [Configuration(name, ["sh"], {"LD_PRELOAD": str(other)}) for name in ("a", "b")]
    assert [path.name for path in started_files(runs)].count("libother.so") == 1
    assert list(started_files([Configuration("absent", ["/runners/none"])])) == []


def test_a_build_that_moves_is_the_same_and_one_that_differs_is_not(tmp_path: Path) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "prog").write_text("new" if folder == "c" else "old")
    prints = [identity_of([tmp_path / folder / "prog"]).prints for folder in ("a", "b", "c")]
    assert prints[0] == prints[1] != prints[2]
    both = identity_of([tmp_path / "a/prog", tmp_path / "c/prog", tmp_path / "absent"])
    assert [*both.prints] == ["prog", "prog'"]


def test_a_large_file_is_known_by_what_cannot_be_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "WHOLE_BYTES", 10)
    path = tmp_path / "large.in"
    path.write_text("x" * 11)
    before, status = fingerprint(path), path.stat()
    path.write_text("y" * 11)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert fingerprint(path) != before


def test_what_is_touched_but_not_changed_has_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "prog"
    path.write_text("old")
    whole = identity_of([path])
    os.utime(path)
    assert whole.changed() == []
    path.write_text("new")
    assert whole.changed() == ["prog"]
    path.unlink()
    assert whole.changed() == ["prog"]
    assert status_of(path) is None


def test_rows_of_two_builds_are_not_mixed(tmp_path: Path) -> None:
    def opened(measured: dict[str, str] | None, fresh: bool = False) -> Store:
        return Store.open(tmp_path, "tune", "plan", MACHINE, fresh, NOW, measured)

    opened({"prog": "sha256:1", "libc.so.6": "sha256:2"}).close()
    opened({"libc.so.6": "sha256:2", "prog": "sha256:1"}).close()
    for other in ({"prog": "sha256:3", "libc.so.6": "sha256:2"}, {"libc.so.6": "sha256:2"}):
        with pytest.raises(TautoError, match=r"^prog changed since .*two builds must not be mixed") as caught:
            opened(other)
        assert "--fresh" in caught.value.remedy
    many = {f"lib{number}": "sha256:1" for number in range(9)}
    with pytest.raises(TautoError, match="and 7 more changed"):
        opened(many)
    with opened(many, fresh=True) as store:
        assert store.notices == []


def test_a_store_that_does_not_say_what_it_measured_goes_on_with_a_word(tmp_path: Path) -> None:
    with Store.open(tmp_path, "tune", "plan", MACHINE, now=NOW) as store:
        header = dict(store.header)
    assert header.pop("measured") == {}
    (tmp_path / "old").mkdir()
    with Journal.open(tmp_path / "old" / "rows.jsonl") as journal:
        journal.append(header)
    with Store.open(tmp_path / "old", "tune", "plan", MACHINE, now=NOW, measured={"prog": "1"}) as store:
        (notice,) = store.notices
    assert "does not say which build" in notice


def test_a_program_that_is_built_anew_meanwhile_ends_the_study(tmp_path: Path) -> None:
    path = tmp_path / "prog"
    path.write_text("old")
    clock = VirtualClock()
    planned = plan(configuration("a"), rounds=8)
    planned = replace(planned, identity=identity_of([path]))
    store = Store.open(tmp_path, planned.study, planned.plan_id, MACHINE, now=NOW)

    def build(row: object) -> None:
        if len(store.rows()) == 3:
            path.write_text("new")

    with store, pytest.raises(TautoError, match="prog changed while it was measured"):
        run_plan(planned, store, MockExecutor(clock), clock, on_row=build)
    assert len(Store.read(tmp_path).rows()) == 3


def tune(*words: str) -> None:
    request = TuneRequest(
        command=("./prog.sh", *words),
        environment={"X": ("a", "b")},
        output=Path("results"),
        report=False,
    )
    tune_by_runs(request, real_services(), 12)


@pytest.mark.usefixtures("in_an_empty_folder")
def test_a_search_does_not_go_on_with_another_program_or_input(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    written = str(tmp_path_factory.mktemp("elsewhere") / "out")
    script(Path("prog.sh"), 'sleep 0.01; date +%N > "$2"')
    Path("case.in").write_text("1")
    for _ in range(2):  # what each run writes is no input
        tune("case.in", written)
    Path("case.in").write_text("2")
    with pytest.raises(TautoError, match=r"case\.in changed since"):
        tune("case.in", written)
    Path("case.in").write_text("1")
    script(Path("prog.sh"), 'sleep 0.02; date +%N > "$2"')
    with pytest.raises(TautoError, match=r"prog\.sh changed since"):
        tune("case.in", written)

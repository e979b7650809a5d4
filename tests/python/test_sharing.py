"""`tauto share`: what is in the file, what is not, and what `tauto claims --with` makes of it."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import pytest

from page_content import visible
from study_fakes import machine
from study_nbody_fakes import laboratory, request
from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.results.store import Store
from tautochrone.studies import claims_report, share_command, sharing
from tautochrone.studies.nbody.study import Nbody
from tautochrone.studies.power import figures as power
from tautochrone.studies.simulated_set import simulated_set

SECRET = "/home/somebody/secret"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "nbody"
    nothing = {"status": "unavailable", "reason": SECRET, "remedy": SECRET}
    record = machine(name="somebodys-laptop", hostname="somebodys-laptop", counters=nothing)
    lab = laboratory(machine=record, errors={"mpich j": "failed"})
    Nbody.measure(request(folder, particles=(256,)), lab.services)
    return folder


def test_the_file_has_no_names_no_paths_and_no_dates(study: Path, tmp_path: Path) -> None:
    file = tmp_path / "shared.tauto"
    assert main(["share", str(study), "--output", str(file)]) == 0
    plain = gzip.decompress(file.read_bytes()).decode()
    for word in ("somebody", "secret", "laptop", str(tmp_path), "/runners", "2026-", "it was told"):
        assert word not in plain
    content = json.loads(plain)
    assert content["schema"] == "tautochrone.shared/1"
    assert len(content["machine"]["cpus"]) == 2
    assert file.stat().st_size < 200_000


def test_the_same_claims_come_out_as_from_the_folder(study: Path, tmp_path: Path) -> None:
    file = tmp_path / "shared.tauto"
    main(["share", str(study), "--output", str(file)])
    with Store.read(study) as store:
        here = {claim.id: claim.holds for claim in Nbody.stored(store).claims}
    assert {claim.id: claim.holds for claim in sharing.read(file).claims()} == here


def test_machines_are_laid_beside_each_other(study: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.tauto" for name in ("a", "b")]
    for file in files:
        main(["share", str(study), "--output", str(file)])
    rows = dict(claims_report.laid_beside([sharing.read(file) for file in files]))
    assert len(rows["N2"]) == 2
    assert all(cell.startswith(("yes", "NO", "open")) for cell in rows["N2"])


@pytest.mark.timed
def test_simulated_sets_say_so_and_stand_beside_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_command, "simulated_set", partial(simulated_set, sizes=(1000, 2000)))
    monkeypatch.setattr(claims_report, "chapters", lambda measured: (power.chapter(),))  # the least of them
    words: list[str] = []
    for name in ("i9-14900k", "rk3588", "apple-m2-like"):
        file = tmp_path / f"{name}.tauto"
        assert main(["share", "--simulated", name, "--output", str(file)]) == 0
        assert "(simulated)" in capsys.readouterr().out
        assert {row.source for row in sharing.read(file).rows} == {"simulated"}
        words += ["--with", str(file)]
    page = tmp_path / "claims.html"
    assert main(["claims", "--only", "H1", *words, "--report", "--output", str(page)]) == 0
    said, drawn = capsys.readouterr().out, visible(page.read_text())
    for name in (
        "Intel Core i9-14900K (simulated)",
        "Rockchip RK3588 (simulated)",
        "like an Apple M2 (simulated)",
    ):
        assert name in drawn
        assert name.split()[-2] in said
    machines = [sharing.read(tmp_path / f"{name}.tauto") for name in ("i9-14900k", "rk3588")]
    worth = dict(claims_report.laid_beside(machines))["H10"]
    assert worth[0].startswith("yes: ")  # the published machine and program
    assert worth[1].startswith("open: ")  # its file does not say how fast the published program is


@pytest.mark.parametrize("words", [[], ["somewhere", "--simulated", "rk3588"]])
def test_a_folder_or_a_machine_is_shared_and_not_both(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["share", *words]) == 2
    assert "Name a FOLDER, or give --simulated MACHINE" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        (None, "is no shared study"),
        ("{}", "is no shared study"),
        ('{"schema":"other","study":"loop","machine":{},"rows":[]}', "has schema 'other'"),
    ],
    ids=["no gzip", "nothing", "another schema"],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, plain: str | None, words: str) -> None:
    file = tmp_path / "wrong.tauto"
    file.write_bytes(b"no gzip" if plain is None else gzip.compress(plain.encode()))
    with pytest.raises(TautoError, match=words):
        sharing.read(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="cannot be read"):
        sharing.read(tmp_path / "missing.tauto")

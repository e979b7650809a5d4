"""`tauto share`: what is in the file, what is not, and what `tauto claims --with` makes of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from study_fakes import machine
from study_nbody_fakes import laboratory, request
from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.results.store import Store
from tautochrone.studies import claims_report, sharing
from tautochrone.studies.nbody.study import Nbody

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

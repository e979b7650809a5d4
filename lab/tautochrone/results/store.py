"""The results of a study in a folder: who measured what, run after run.

``rows.jsonl`` is the truth; index, Parquet and CSV are derived from it. Its first line says what the file is
(`tautochrone.store/1`), the next is the machine's record (`tautochrone.machine/1`). Every other line is a run
(`tautochrone.row/1`), or the machine measured again between two rounds, appended and flushed to the disk as
the run ends (see `journal`). Lines that changed since are left out and named (see `lines`). A second line
with the same `run` that has an error takes the place of the first: so a run becomes an error when a check
over several rows refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from tautochrone import __version__
from tautochrone.errors import TautoError, warn_once
from tautochrone.results import journal
from tautochrone.results.interning import Interning
from tautochrone.results.lines import Record
from tautochrone.results.row import (
    MACHINE_SCHEMA,
    MEASURED,
    ROW_SCHEMA,
    STORE_SCHEMA,
    Row,
    as_record,
    check,
    iso,
)

ROWS_FILE = "rows.jsonl"
_LONGEST_STAMP = 40
_MOST_NAMED = 4
_ANEW = "Begin anew with --fresh (the old rows are kept beside it), or name another folder with --output"


def rows_file(where: Path | str) -> Path:
    """The file of rows in a folder, or the file that is named itself."""
    path = Path(where)
    return path / ROWS_FILE if path.is_dir() else path


class Store:
    """A study's results: `Store.open` to measure, `Store.read` to look.

    `notices` holds what a user should be told, a sentence each, such as a line that changed and is left out.
    """

    def __init__(
        self,
        path: Path,
        records: dict[int, Any],
        writer: journal.Journal | None,
        notices: Sequence[str],
    ) -> None:
        self.path = path
        self.notices: list[str] = list(notices)
        self._rows, self._numbers = _rows_of(path, records)
        self._records: dict[int, Record] = records  # the others
        self._writer = writer

    @classmethod
    def open(
        cls,
        folder: Path | str,
        study: str,
        plan_id: str,
        machine: Mapping[str, object],
        fresh: bool = False,
        now: datetime | None = None,
        measured: Mapping[str, str] | None = None,
    ) -> Self:
        """Open `folder` for appending, creating it or going on from what it holds.

        With `fresh` the earlier rows are kept as ``rows.<when they were begun>.jsonl`` and a new file is
        begun; `now` is its date. `measured` has for the name of each file that is measured what
        tells it from others of that name. TautoError: folder not writable, another process writes there, the
        first line is damaged, or the rows there are of another schema, study, machine, plan or files.
        """
        path = Path(folder) / ROWS_FILE
        aside = partial(_aside, path) if fresh else None
        writer = journal.Journal.open(path, aside=aside, made=_maker())
        try:
            if not writer.lines.count:
                writer.append(
                    {
                        "schema": STORE_SCHEMA,
                        "study": study,
                        "plan_id": plan_id,
                        "created": iso(now or datetime.now(UTC)),
                        "tautochrone": __version__,
                        "measured": dict(measured or {}),
                    }
                )
            records = writer.taken()
            _refuse_lost_header(path, records)
            _check_schemas(path, records)
            _refuse_other_results(path, records, study, plan_id, machine)
            notices = _refuse_other_files(path, records[1], measured)
            if not any(_of(record, "schema") == MACHINE_SCHEMA for record in records.values()):
                records[writer.lines.count + 1] = {**machine, "schema": MACHINE_SCHEMA}
                writer.append(records[writer.lines.count + 1])
        except BaseException:
            writer.close()
            raise
        return cls(path, records, writer, [*writer.notices, *notices])

    @classmethod
    def read(cls, where: Path | str, *, lean: bool = False) -> Self:
        """Look at a folder that holds ``rows.jsonl``, or at such a file, even while it is written.

        The notices are also printed as warnings. `lean`: rows without the fields that are a study's own.
        """
        path = rows_file(where)
        lines = journal.read(path, _maker(lean=lean))
        notices = lines.notices(path)
        if not lines.records:
            found = "; ".join([f"{path} holds no results", *notices])
            raise TautoError(found, "Name a folder that a study has written")
        if journal.cut_off(path, lines):
            notices.append(f"the last line of {path} was cut off and is left out")
        if 1 in lines.changed or 1 in lines.gaps:
            # Each row says of which study it is; what else the line said is needed to measure alone.
            named = (_of(record, "study") for record in lines.records.values())
            study = next((study for study in named if study is not None), "")
            lines.records = {0: {"schema": STORE_SCHEMA, "study": study}, **lines.records}
        _check_schemas(path, lines.records)
        for notice in notices:
            warn_once(notice)
        return cls(path, lines.records, None, notices)

    @classmethod
    def machine_in(cls, folder: Path) -> Record:
        """The machine whose rows a folder holds; empty where there are none, or a kill came before it."""
        path = folder / ROWS_FILE
        if not path.exists() or not journal.read(path, _maker()).records:
            return {}
        with cls.read(folder) as store:
            return store.machine

    @classmethod
    def study_in(cls, where: Path | str) -> str:
        """Of which study the rows are, from the first line alone if that is whole."""
        lines = journal.read(rows_file(where), most=1)
        study = lines.records.get(1, {}).get("study")
        if lines.gaps or not isinstance(study, str):
            with cls.read(where) as store:
                return store.study
        return study

    @property
    def folder(self) -> Path:
        """The folder that holds the rows and all that is derived from them."""
        return self.path.parent

    @property
    def header(self) -> Record:
        """The store's first line: study, plan_id, created, tautochrone (the version that made it)."""
        return next(iter(self._records.values()))

    @property
    def study(self) -> str:
        return str(self.header["study"])

    @property
    def machine(self) -> Record:
        """The machine's record, `tautochrone.machine/1`; empty if a kill came before it was written."""
        return next(iter(self.machines), {})

    @property
    def machines(self) -> list[Record]:
        """All records of the machine: the first, and those that were measured again between rounds."""
        return [record for record in self._records.values() if record["schema"] == MACHINE_SCHEMA]

    def append_machine(self, record: Mapping[str, object]) -> None:
        """Store what the same machine was measured to be once more. ValueError for another machine."""
        if self._writer is None:
            raise ValueError(f"{self.path} was opened for reading")
        if record.get("machine") != self.machine.get("machine"):
            raise ValueError(f"{self.path} is of another machine")
        self._writer.append({**record, "schema": MACHINE_SCHEMA})

    def append(self, new: Row) -> None:
        """Store a row; it is on the disk when this returns. ValueError for a row that breaks the schema."""
        if self._writer is None:
            raise ValueError(f"{self.path} was opened for reading")
        check(new)
        self._writer.append(as_record(new))
        self._rows[new.run] = new

    def rows(self, source: str | None = MEASURED) -> list[Row]:
        """The rows in the order of their runs; each run once, in its last state.

        `source` is ``measured`` (the default: rows that only chose finalists are not results),
        ``screening``, or None for all of them.
        """
        return [row for row in self._rows.values() if source is None or row.source == source]

    def checked(self, complaint: Callable[[Row], str | None]) -> list[Row]:
        """All rows, if nothing is wrong with the fields that a study of its own reads.

        TautoError, with the line, for the first row of which `complaint` says what is wrong.
        """
        for row in self._rows.values():
            wrong = complaint(row)
            if wrong is not None:
                raise _no_row(self.path, self._numbers.get(row.run, 0), wrong)
        return self.rows(None)

    def completed(self, source: str = MEASURED) -> set[tuple[str, int]]:
        """The (config_id, round) that need not be run again. Runs that ended in an error are tried again."""
        return {(row.config_id, row.round) for row in self.rows(source) if row.error is None}

    def close(self) -> None:
        """Let the lock go. Closing twice, or a store that was opened for reading, is allowed."""
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class _NoRow:
    """What stands for a record that is no row, and why."""

    wrong: str


def _maker(*, lean: bool = False) -> Callable[[Record], Row | _NoRow | Record]:
    """What makes a row of a record at once, as all records need thrice the memory; it leaves the others."""
    interning = Interning(lean=lean)

    def made(record: Record) -> Row | _NoRow | Record:
        if record.get("schema") != ROW_SCHEMA:
            return record
        try:
            row = interning.row(record)
            check(row)
        except ValueError as error:  # msgspec's is one
            return _NoRow(str(error))
        return row

    return made


def _of(record: Row | _NoRow | Record, name: str) -> object:
    """What a record says of its schema or study."""
    if isinstance(record, dict):
        return record.get(name)
    return ROW_SCHEMA if name == "schema" else getattr(record, name, None)


def _aside(path: Path, records: Mapping[int, Any]) -> Path:
    """Where rows go that a fresh start sets aside: named after the moment they were begun."""
    first = records.get(1)
    begun = str(first.get("created", "earlier") if isinstance(first, dict) else "earlier")
    stamp = "".join(letter for letter in begun if letter.isalnum())[:_LONGEST_STAMP]
    suffixes = ("", *(f"-{n}" for n in range(2, 1000)))
    places = (path.with_name(f"rows.{stamp}{suffix}.jsonl") for suffix in suffixes)
    return next(place for place in places if not place.exists())


def _check_schemas(path: Path, records: Mapping[int, Any]) -> None:
    first = next(iter(records))
    for number, record in records.items():
        expected = (STORE_SCHEMA,) if number == first else (ROW_SCHEMA, MACHINE_SCHEMA)
        if (schema := _of(record, "schema")) not in expected:
            raise TautoError(
                f"line {number} of {path} has schema {schema!r}; expected {' or '.join(expected)}",
                "Use the version of tautochrone that wrote it, or name another folder with --output",
            )
    if not isinstance(records[first].get("study"), str):
        raise TautoError(
            f"line {first} of {path} does not say of which study it is",
            "Restore the file from a copy, or name another folder with --output",
        )


def _rows_of(path: Path, records: dict[int, Any]) -> tuple[dict[str, Row], dict[str, int]]:
    """Each run in its last state, and its line; taken out of the records.

    TautoError, with its line, for a row that is none.
    """
    rows: dict[str, Row] = {}
    numbers: dict[str, int] = {}
    for number in [number for number, record in records.items() if isinstance(record, Row | _NoRow)]:
        row = records.pop(number)
        if isinstance(row, _NoRow):
            raise _no_row(path, number, row.wrong)
        # Whatever the order of lines that were moved: what was refused stays refused.
        if row.run not in rows or row.error is not None:
            rows[row.run], numbers[row.run] = row, number
    return rows, numbers


def _no_row(path: Path, number: int, wrong: str) -> TautoError:
    return TautoError(
        f"line {number} of {path} is not a row: {wrong}",
        "Restore the file from a copy, or name another folder with --output",
    )


def _refuse_lost_header(path: Path, records: Mapping[int, Any]) -> None:
    if 1 not in records:
        raise TautoError(f"line 1 of {path}, which says what was measured, changed after writing", _ANEW)


def _refuse_other_results(
    path: Path, records: Mapping[int, Any], study: str, plan_id: str, machine: Mapping[str, object]
) -> None:
    header = records[1]
    if header.get("study") != study:
        raise TautoError(f"{path} holds the study {header.get('study')!r}, not {study!r}", _ANEW)
    known = next((one for one in records.values() if _of(one, "schema") == MACHINE_SCHEMA), machine)
    if known.get("machine") != machine.get("machine"):
        theirs, ours = known.get("machine"), machine.get("machine")
        raise TautoError(f"{path} was measured on machine {theirs}; this is machine {ours}", _ANEW)
    if header.get("plan_id") != plan_id:
        raise TautoError(
            f"{path} was measured with other settings (plan {header.get('plan_id')}, now plan {plan_id}): "
            "rows of two plans must not be mixed",
            _ANEW,
        )


def _refuse_other_files(path: Path, header: Record, measured: Mapping[str, str] | None) -> list[str]:
    """Refuse rows of a program that was built anew; what to say where nobody knows of which they are."""
    known = header.get("measured")
    if measured is None:
        return []
    if not isinstance(known, Mapping):
        return [f"{path} is of an earlier version, and does not say which build of the program it measured"]
    differ = sorted(name for name in {*known, *measured} if known.get(name) != measured.get(name))
    if differ:
        others = f" and {len(differ) - _MOST_NAMED} more" if len(differ) > _MOST_NAMED else ""
        raise TautoError(
            f"{', '.join(differ[:_MOST_NAMED])}{others} changed since {path} was measured: "
            "rows of two builds must not be mixed",
            _ANEW,
        )
    return []

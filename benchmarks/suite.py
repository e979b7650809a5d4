"""The table of benchmarks, ``suite.toml``: what each measures, against what, and its targets.

``python -m benchmarks.suite`` prints it as the table of README.md.
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.rows import RATIO, target_text
from tautochrone.errors import TautoError

TABLE = Path(__file__).with_name("suite.toml")


class RowOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of a benchmark whose cells match a pattern: what they are, and their target."""

    target: float
    cell: str = ""
    what: str = ""
    unit: str = RATIO
    means: str = ""

    @property
    def target_text(self) -> str:
        """``≤ 1.03 in each cell``; ``cpu ≤ 0.3``."""
        text = target_text(self.target, self.unit) + (f" ({self.means})" if self.means else "")
        return f"{text} in each cell" if self.cell == "*" else f"{self.cell} {text}".strip()


class Benchmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the table. `body` is a function of ``bodies/``, which is given the `parameters`."""

    id: str
    what: str
    against: str
    body: str
    rows: tuple[RowOf, ...]
    detail: str = ""
    parameters: dict[str, Any] = {}

    @property
    def title(self) -> str:
        """What it measures, on the usual CPUs."""
        return self.what.format(cpu=1)

    @property
    def target_text(self) -> str:
        """All targets in one line."""
        return "; ".join(row.target_text for row in self.rows)

    def row_of(self, cell: str) -> RowOf:
        """What the table says of a cell. The own row, ``""``, has the first target if it is not there."""
        if not cell:
            own = next((row for row in self.rows if not row.cell), self.rows[0])
            return msgspec.structs.replace(own, cell="", what=self.what)
        return next(row for row in self.rows if fnmatchcase(cell, row.cell))


def read() -> dict[str, Benchmark]:
    """The benchmarks by their ids, in the table's order."""
    with TABLE.open("rb") as file:
        tables = tomllib.load(file)
    return {name: msgspec.convert({"id": name, **table}, Benchmark) for name, table in tables.items()}


BENCHMARKS = read()


def chosen(only: str | None) -> list[Benchmark]:
    """The benchmarks named in ``B1,B4``, in the table's order; all for None.

    Raises TautoError for an id that is not there.
    """
    if only is None:
        return list(BENCHMARKS.values())
    wanted = [word.strip().upper() for word in only.replace(" ", ",").split(",") if word.strip()]
    for word in wanted:
        if word not in BENCHMARKS:
            raise TautoError(f"there is no benchmark {word!r}", f"Choose from {', '.join(BENCHMARKS)}")
    if not wanted:
        raise TautoError(f"--only {only!r} names no benchmark", f"Choose from {', '.join(BENCHMARKS)}")
    return [benchmark for benchmark in BENCHMARKS.values() if benchmark.id in wanted]


def markdown() -> str:
    """The table of README.md."""
    lines = ["| id | what is measured | against | target |", "|---|---|---|---|"]
    for benchmark in BENCHMARKS.values():
        what = "; ".join(filter(None, (benchmark.title, benchmark.detail)))
        lines.append(f"| {benchmark.id} | {what} | {benchmark.against} | {_targets(benchmark)} |")
    return "\n".join(lines) + "\n"


def _targets(benchmark: Benchmark) -> str:
    """As `Benchmark.target_text`, with the cells as code: a star would be read as emphasis."""
    return "; ".join(
        row.target_text.replace(row.cell, f"`{row.cell}`", 1)
        if row.cell not in ("", "*")
        else row.target_text
        for row in benchmark.rows
    )


if __name__ == "__main__":
    print(markdown(), end="")

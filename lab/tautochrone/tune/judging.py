"""Whether a run's answer counts: the objective's number, the user's check, the default's output."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.executor import RunError
from tautochrone.measure import equal_answers
from tautochrone.row import Row
from tautochrone.session import CheckRows
from tautochrone.subprocess_executor import Printed
from tautochrone.tune.objective import MATCHED, MEMORY, Objective
from tautochrone.tune.space import DEFAULT

OUTPUT = "output_sha256"
_CHECK_LIMIT_SECONDS = 600.0


@dataclass(frozen=True)
class Judging:
    """How a run's output is looked at; see `SubprocessExecutor`."""

    objective: Objective
    check: str | None = None
    same_output: bool = False

    @property
    def needs_whole_output(self) -> bool:
        """Whether the end of an output is not enough."""
        return self.same_output or self.check is not None

    def __call__(self, printed: Printed, folder: Path | None) -> tuple[Mapping[str, Any], RunError | None]:
        """What to keep of an output, and what is wrong with it."""
        record: dict[str, Any] = {}
        if self.objective.kind == "memory" and printed.observed is not None:
            record[MEMORY] = printed.observed["memory_bytes"]
        if self.objective.kind == "regex":
            value = self.objective.matched(printed.output, printed.errors)
            if value is None or not 0 < value < float("inf"):
                no_figure = "" if value is None else "not positive" if value <= 0 else "no figure"
                what = f"{value:g}, which is {no_figure}, for" if no_figure else "nothing that matches"
                assert self.objective.pattern is not None
                pattern = self.objective.pattern.pattern
                return record, RunError(
                    "failed", f"it printed {what} {pattern!r}, on standard output or standard error"
                )
            record[MATCHED] = value
        if self.same_output:
            assert printed.whole is not None
            with printed.whole.open("rb") as file:
                record["check"] = {
                    "passed": True,
                    OUTPUT: hashlib.file_digest(file, "sha256").hexdigest()[:16],
                }
        if self.check is not None:
            assert printed.whole is not None
            said = _checked(self.check, printed.whole, folder)
            if said:
                return record, RunError("wrong_answer", said)
        return record, None

    @property
    def check_rows(self) -> CheckRows | None:
        """The comparison of outputs with those of the default, where it was asked for."""
        return equal_answers(_is_default, field_name=OUTPUT) if self.same_output else None


def _is_default(row: Row) -> bool:
    return bool(row["name"] == DEFAULT)


def _checked(check: str, output: Path, folder: Path | None) -> str:
    """What the user's command says against an output; empty where it is content."""
    try:
        with output.open("rb") as file:
            done = subprocess.run(
                ["/bin/sh", "-c", check],
                stdin=file,
                capture_output=True,
                cwd=folder,
                timeout=_CHECK_LIMIT_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"the check did not end within {_CHECK_LIMIT_SECONDS:g} s"
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return f"the check ended with exit code {done.returncode}{': ' + said[-1] if said else ''}"

"""The fixture ``tauto_compare`` for pytest: a test fails where something is slower, with the evidence.

pytest loads this module in each of its sessions, so it imports the rest of the package when a test asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import pytest

if TYPE_CHECKING:
    from tautochrone.comparing.result import Compared

PROPERTY = "tauto_compare"
_WORKER = "PYTEST_XDIST_WORKER"
Untold = Literal["skip", "fail"]


@dataclass(frozen=True)
class Outcome:
    """What a comparison found, for a test to judge."""

    compared: Compared

    @property
    def answer(self) -> str:
        """One sentence."""
        return self.compared.answer

    @property
    def ratio(self) -> float | None:
        """The second's time divided by the first's; None where it is not known."""
        ratio = self.compared.sides[-1].ratio
        return None if ratio is None else ratio.value

    def assert_not_slower(self, by: str | float = 0.0, *, untold: Untold = "skip") -> None:
        """Fail the test if the second takes more time than the first by more than `by`, such as "2%" or 0.02.

        Where the interval holds that limit it cannot be told, and the test is skipped, or fails.
        """
        __tracebackhide__ = True
        from tautochrone.comparing.command import SLOWER_CODE, judged

        code = judged(self.compared, _share(by))
        if code == SLOWER_CODE:
            pytest.fail(self._words(f"slower by more than {_percent(by)}"), pytrace=False)
        if code != 0:
            self._untold(f"whether it is slower by more than {_percent(by)} cannot be told", untold)

    def assert_faster(self, by: str | float = 0.0, *, untold: Untold = "fail") -> None:
        """Fail the test unless the second takes less time than the first by more than `by`."""
        __tracebackhide__ = True
        ratio = self.compared.sides[-1].ratio
        limit = 1.0 - _share(by)
        if ratio is None or ratio.low is None or ratio.high is None or ratio.low < limit <= ratio.high:
            self._untold(f"whether it is faster by more than {_percent(by)} cannot be told", untold)
        elif ratio.high >= limit:
            pytest.fail(self._words(f"not faster by more than {_percent(by)}"), pytrace=False)

    def _untold(self, what: str, untold: Untold) -> NoReturn:
        __tracebackhide__ = True
        if untold == "skip":
            pytest.skip(self._words(what))
        pytest.fail(self._words(what), pytrace=False)

    def _words(self, what: str) -> str:
        return "\n".join([f"{what}: {self.answer}", *(f"  {remark}" for remark in self.compared.remarks)])


def _share(by: str | float) -> float:
    from tautochrone.comparing.command import parse_percent

    return parse_percent(by, "by") if isinstance(by, str) else by


def _percent(by: str | float) -> str:
    return f"{100 * _share(by):g} %"


@dataclass(frozen=True)
class Comparer:
    """Compares two commands, or two callables without arguments; the first is the reference."""

    keep: Callable[[str], None]

    def __call__(
        self,
        reference: str | Sequence[object] | Callable[[], Any],
        rival: str | Sequence[object] | Callable[[], Any],
        **settings: Any,
    ) -> Outcome:
        """Commands take the settings of `tautochrone.compare`, callables those of `compare.functions`.

        What cannot be compared fails the test with one sentence.
        """
        __tracebackhide__ = True
        from tautochrone import compare

        if callable(reference) and callable(rival):
            function, other = reference, rival
            return self._outcome(lambda: compare.functions(function, other, **settings))
        if callable(reference) or callable(rival):
            pytest.fail("a command and a callable cannot be compared: pass two of a kind", pytrace=False)
        commands = [reference, rival]
        return self._outcome(lambda: compare(commands, **settings))

    def revisions(
        self,
        old: str,
        new: str,
        command: str | Sequence[object],
        *,
        build: str | None = None,
        **settings: Any,
    ) -> Outcome:
        """Compare a command at two revisions of this folder's git repository, each built by `build`."""
        __tracebackhide__ = True
        from tautochrone import compare

        return self._outcome(lambda: compare.revisions(old, new, command, build=build, **settings))

    def _outcome(self, compared: Callable[[], Compared]) -> Outcome:
        __tracebackhide__ = True
        from tautochrone.errors import TautoError

        try:
            found = compared()
        except TautoError as error:
            pytest.fail(str(error), pytrace=False)
        if _WORKER in os.environ:
            from msgspec.structs import replace

            beside = "other workers of pytest-xdist may have run beside: use -n 0 for a narrower interval"
            found = replace(found, remarks=(*found.remarks, beside))
        self.keep(found.answer)
        return Outcome(found)


@pytest.fixture
def tauto_compare(request: pytest.FixtureRequest) -> Comparer:
    """Two commands or callables in one call; what it returns has assert_not_slower."""
    properties = request.node.user_properties
    return Comparer(lambda answer: properties.append((PROPERTY, answer)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The answers, also of tests that passed."""
    answers = [
        (report.nodeid, value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == PROPERTY
    ]
    if answers:
        terminalreporter.section("tauto compare")
        for test, answer in answers:
            terminalreporter.line(f"{test}: {answer}")

"""What both implementations of verdicts must give: the lab's, and `sign_test.hpp` and `signed_rank.hpp`.

`python tests/python/verdict_cases.py` writes the file that the C++ test reads; a Python test holds it
against the lab.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tautochrone.verdicts import (
    VERDICT_CONFIDENCE,
    Comparison,
    compare,
    compare_drawn,
    sign_interval_rank,
    signed_rank_interval_rank,
)

CASES = Path(__file__).resolve().parents[1] / "cpp" / "verdict_cases.txt"
COUNTS = (*range(1, 151), *range(199, 1000, 100))
CONFIDENCES = (0.95, 0.99, 0.999, 1 - 2 / 256, 1 - 0.01 / 3, 1 - 0.01 / 57)


def lines() -> Iterator[str]:
    """Of each kind: `ranks TEST CONFIDENCE COUNT RANK …`; `pairs COMPARISONS CONFIDENCE N TIME…`, then
    ratio, low, high, coverage, verdict of the sign test and of the signed-rank test.
    """
    for test, rank in (("sign", sign_interval_rank), ("signed-rank", signed_rank_interval_rank)):
        for confidence in CONFIDENCES:
            yield f"ranks {test} {confidence!r} " + " ".join(
                f"{count} {rank(count, confidence)}" for count in COUNTS
            )
    draw = random.Random(20)
    for count in (0, 1, 7, 8, 9, 12, 17, 40, 101):
        for comparisons in (1, 3):
            for shift in (1.0, 1.05, 0.8):
                pairs = [
                    (
                        float(f"{shift * draw.lognormvariate(0, 0.1):.4g}"),
                        float(f"{draw.lognormvariate(0, 0.1):.4g}"),
                    )
                    for _ in range(count)
                ]
                times = " ".join(f"{a!r} {b!r}" for a, b in pairs)
                asked = f"{comparisons} {VERDICT_CONFIDENCE!r} {count}"
                told = " ".join(
                    _told(judge(pairs, comparisons=comparisons)) for judge in (compare, compare_drawn)
                )
                yield f"pairs {asked} {times} {told}"


def _told(found: Comparison) -> str:
    figures = (found.ratio, found.low, found.high, found.coverage)
    told = " ".join("nan" if figure is None else repr(figure) for figure in figures)
    return f"{told} {found.verdict.replace(' ', '_')}"


def text() -> str:
    return "".join(" ".join(line.split()) + "\n" for line in lines())


if __name__ == "__main__":
    CASES.write_text(text())

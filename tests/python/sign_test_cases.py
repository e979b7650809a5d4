"""What both implementations of the sign test must give: the lab's, and `include/tauto/sign_test.hpp`.

`python tests/python/sign_test_cases.py` writes the file that the C++ test reads; a Python test holds it
against the lab.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tautochrone import verdicts

CASES = Path(__file__).resolve().parents[1] / "cpp" / "sign_test_cases.txt"
COUNTS = (*range(1, 151), *range(199, 1000, 100))
CONFIDENCES = (0.95, 0.99, 0.999, 1 - 2 / 256, 1 - 0.01 / 3, 1 - 0.01 / 57)


def lines() -> Iterator[str]:
    """Of each kind: `ranks CONFIDENCE COUNT RANK …`; `pairs COMPARISONS CONFIDENCE N TIME…`, then
    ratio, low, high, coverage, verdict.
    """
    for confidence in CONFIDENCES:
        ranks = (f"{count} {verdicts.sign_interval_rank(count, confidence)}" for count in COUNTS)
        yield f"ranks {confidence!r} {' '.join(ranks)}"
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
                found = verdicts.compare(pairs, comparisons=comparisons)
                times = " ".join(f"{a!r} {b!r}" for a, b in pairs)
                figures = (found.ratio, found.low, found.high, found.coverage)
                told = " ".join("nan" if figure is None else repr(figure) for figure in figures)
                asked = f"{comparisons} {verdicts.VERDICT_CONFIDENCE!r} {count}"
                yield f"pairs {asked} {times} {told} {found.verdict}"


def text() -> str:
    return "".join(" ".join(line.split()) + "\n" for line in lines())


if __name__ == "__main__":
    CASES.write_text(text())

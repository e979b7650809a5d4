"""Say what `make test` found: `summary.py STAGE...`; the last line is `N passed, N failed`.

Reads build/test/STAGE.status and STAGE.xml (JUnit, of pytest or ctest). One failure is counted for a stage
that did not run, for one in which no test ran, and for one that ended with an error but names no failed test.
The exit status is 1 if anything failed.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LOGS = Path(__file__).resolve().parents[1] / "build" / "test"
DOCTEST = re.compile(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def count(junit: Path) -> tuple[int, int, list[str]]:
    """Tests that passed, tests that were skipped, and the names of those that failed.

    What ctest ran counts by its doctest cases where it has some. An executable that failed is one failure.
    """
    passed, skipped, failed = 0, 0, []
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed.append(f"{case.get('classname') or ''} {case.get('name')}".strip())
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            cases = DOCTEST.findall(case.findtext("system-out") or "")
            passed += sum(int(good) for good, _ in cases) if cases else 1
    return passed, skipped, failed


def read_stage(name: str) -> tuple[int, int, list[str], str]:
    """As `count`, and the seconds in words."""
    status_file, junit = LOGS / f"{name}.status", LOGS / f"{name}.xml"
    if not status_file.exists():
        return 0, 0, ["did not run: what it needs was not built"], "-"
    status, seconds = status_file.read_text().split()
    passed, skipped, failed = count(junit) if junit.exists() else (0, 0, [])
    if not failed and status != "0":
        failed = [f"ended with exit status {status}"]
    elif not failed and passed == 0:
        failed = ["no test ran"]
    return passed, skipped, failed, seconds


def main(names: list[str]) -> int:
    """Print one line a stage, the failures, and the sums."""
    stages = {name: read_stage(name) for name in names}
    print("\nstage       seconds  passed  failed  skipped")
    for name, (passed, skipped, failed, seconds) in stages.items():
        print(f"{name:10}  {seconds:>7}  {passed:6}  {len(failed):6}  {skipped:7}")
    print()
    for name, (_, _, failed, _) in stages.items():
        for test in failed:
            print(f"failed in {name}: {test}   (build/test/{name}.log)")
    failures = sum(len(failed) for _, _, failed, _ in stages.values())
    print(f"{sum(stage[0] for stage in stages.values())} passed, {failures} failed", flush=True)
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

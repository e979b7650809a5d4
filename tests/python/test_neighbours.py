"""Who else keeps the CPUs busy before a measurement."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tautochrone.measuring import neighbours

TICK = os.sysconf("SC_CLK_TCK")


def test_others_that_work_are_named_busiest_first() -> None:
    before = {1: ("make", 10), 2: ("cc1plus", 5), 3: ("sleep", 1), os.getpid(): ("tauto", 0)}
    after = {
        1: ("make", 10 + TICK // 2),
        2: ("cc1plus", 5 + TICK),
        3: ("sleep", 1),
        os.getpid(): ("tauto", TICK),
    }
    said = neighbours.described(before, after, 1.0, 4)
    assert said.startswith("other programs keep 1.5 of 4 CPUs busy now (cc1plus, make): ")


def test_a_quiet_machine_is_not_worth_a_word() -> None:
    assert neighbours.described({1: ("init", 5)}, {1: ("init", 6), 2: ("cron", 1)}, 1.0, 4) == ""


@pytest.mark.timed
def test_a_program_that_works_now_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    child = os.fork()
    if child == 0:
        Path("/proc/self/comm").write_text("neighbour")
        while os.getppid() > 1:
            pass
        os._exit(0)
    try:
        for _ in range(50):  # until the kernel has given it a CPU for long enough
            neighbours.warn_of_neighbours()
            if re.search(r"warning: other programs keep .*\(.*neighbour.*\)", capfd.readouterr().err):
                return
        raise AssertionError("it was not seen")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)

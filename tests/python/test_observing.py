"""What a run looks like from outside: the threads that worked, where they might run, the memory of all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.subprocess_executor import Observed, Observes, Printed, ProgramExecutor
from tautochrone.results.row import Failure
from tautochrone.tune.effect_check import Effect, read_displayed, took_effect
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.services import Services
from tune_fakes import compiled, holding

pytestmark = [pytest.mark.timed, pytest.mark.machine]

# Threads that work for 0.3 s of CPU time each, beside others that wait for their end. Compressing lets other
# threads of Python run at the same time.
THREADS = """
import sys, threading, time, zlib
data = bytes(1 << 22)
def work():
    while time.thread_time() < 0.3: zlib.compress(data)
done = threading.Event()
idle = [threading.Thread(target=done.wait) for _ in range(3)]
busy = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
[one.start() for one in idle + busy]
[one.join() for one in busy]
done.set()
"""


def observed(command: list[str], observe: Observes, **fields: Any) -> tuple[Observed, Any]:
    found: list[Observed] = []

    def judge(printed: Printed, folder: Path | None) -> tuple[Mapping[str, Any], Failure | None]:
        assert printed.observed is not None
        found.append(printed.observed)
        return {}, None

    with closing(ProgramExecutor(judge=judge, observe=observe)) as executor:
        result = executor.run(Configuration("x", command, **fields), 60.0)
    assert result.error is None, result.error
    return found[0], result


def test_threads_that_work_are_counted_and_those_that_wait_are_not() -> None:
    seen, _ = observed([sys.executable, "-c", THREADS, "2"], "threads")
    assert len(seen.processes) == 1
    assert seen.processes[0].threads in (2, 3)  # the main thread starts Python
    assert seen.processes[0].environment == {}


def test_cpus_priority_and_environment_are_those_of_the_running_program() -> None:
    cpu = max(os.sched_getaffinity(0))
    start = {"cpus": [cpu], "nice": 3}
    seen, _ = observed([sys.executable, "-c", THREADS, "1"], "threads", environment={"X": "1"}, start=start)
    found = seen.processes[0]
    assert found.cpus == (str(cpu),)
    assert found.nice == (min(os.nice(0) + 3, 19),)
    assert found.environment == {"X": "1"}


def test_the_memory_of_processes_that_run_together_is_added(tmp_path: Path) -> None:
    one = holding(40, tmp_path, 2)
    together, result = observed(["sh", "-c", f"{one} & {one} & wait"], "memory")
    assert together.memory_bytes > 80 << 20
    assert result.max_rss_bytes < 80 << 20  # the kernel's own account: the largest process
    in_turn, _ = observed(["sh", "-c", f"{one}; {one}"], "memory")
    assert 40 << 20 < in_turn.memory_bytes < 80 << 20


def test_nobody_looks_unless_asked() -> None:
    found: list[Printed] = []

    def judge(printed: Printed, folder: Path | None) -> tuple[Mapping[str, Any], Failure | None]:
        found.append(printed)
        return {}, None

    with closing(ProgramExecutor(judge=judge)) as executor:
        executor.run(Configuration("x", ["true"]), 60.0)
    assert found[0].observed is None


def effect(configuration: Configuration) -> Effect:
    request = TuneRequest(command=("sh",))
    with closing(Services().executor(request, read_displayed, None)) as executor:
        return took_effect(configuration, executor, 30.0)


def test_an_effect_is_said_in_words() -> None:
    cpu = max(os.sched_getaffinity(0))
    command = [sys.executable, "-c", THREADS, "1"]
    found = effect(Configuration("x", command, start={"cpus": [cpu]}))
    assert found.otherwise == ()
    assert len(found.seen) == 1
    assert found.seen[0].endswith(f"worked, on CPU {cpu}, with nice {os.nice(0)}")


def test_what_a_program_or_its_script_undoes_is_noticed() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    first, *_, last = sorted(os.sched_getaffinity(0))
    free = f"import os; os.sched_setaffinity(0, [{first}, {last}]); os.nice(1)\n" + THREADS
    script = f"export X=2; exec {sys.executable} -c '{free}' 1"
    found = effect(Configuration("x", ["sh", "-c", script], {"X": "1"}, start={"cpus": [first], "nice": 1}))
    usual = os.nice(0)
    both = f"{first}-{last}" if last == first + 1 else f"{first},{last}"
    assert [one.partition(" ")[2] for one in found.otherwise] == [
        f"may run on CPU {both} where {first} was set",
        f"has the priority {usual + 2} where {usual + 1} was set",
        "was started with X=2 where '1' was set",
    ]


def test_fewer_threads_than_were_asked_for_are_noticed(tmp_path: Path) -> None:
    program = compiled("static_loop.c", tmp_path, "-fopenmp")
    two = {"OMP_NUM_THREADS": "2"}
    asked = Configuration("x", [str(program), "20", "30000"], two)
    assert effect(asked).otherwise == ()
    alone = Configuration("x", ["sh", "-c", f"OMP_NUM_THREADS=1 exec {program} 20 30000"], two)
    assert any("1 thread of static_loop" in one for one in effect(alone).otherwise)

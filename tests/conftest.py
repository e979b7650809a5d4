"""What all tests in Python share: Ctrl-C, the mark of those that touch time or processes, and repeats."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests that press Ctrl-C would
# wait for ever. A handled signal is back at its default in every program that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

TOUCHES = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn", "time.sleep"})
_touched: list[str] = []
sys.addaudithook(lambda event, _: _touched.append(event) if event in TOUCHES else None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", type=int, default=1, help="run each test so many times")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    times = metafunc.config.getoption("times")
    if times > 1:
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(times))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers, builds and documentation are processes, and so are the scripts of the fixture `runners`."""
    for item in items:
        if item.path.parent.name != "python" or "runners" in getattr(item, "fixturenames", ()):
            item.add_marker("timed")


@pytest.fixture(autouse=True)
def what_touches_time_or_processes_is_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """`timed` is what `make test-repeat` runs; a test must not stay away from that by oversight."""
    _touched.clear()
    yield
    if _touched and request.node.get_closest_marker("timed") is None:
        pytest.fail(f"this test calls {_touched[0]}: mark it with pytest.mark.timed")

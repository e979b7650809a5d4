"""A small process that restores the frequency policy when the process that changed it ends.

It reads the original values and waits for the end of its input, which comes when the other process closes the
pipe or is killed. It has its own session and ignores the signals that end a process group. It imports nothing
of the package.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys

# Imported and not run as a script, because the folder of a script comes first in its path.
COMMAND = (
    *(sys.executable, "-I", "-S", "-c"),
    "import sys; sys.path.append(sys.argv[1]); import watcher; watcher.main()",
    os.path.dirname(os.path.abspath(__file__)),  # noqa: PTH100, PTH120
)
READY = "ready"
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGTSTP)


def restore(originals: list[tuple[str, str]]) -> None:
    """Write everything back, twice: a file may accept its value only after another one is restored."""
    for path, value in originals * 2:
        with contextlib.suppress(OSError):  # who asked looks at the files
            if _read(path) != value:
                with open(path, "w") as file:  # noqa: PTH123
                    file.write(value)


def main() -> None:
    """Read the originals (one JSON line), wait for the end of the input, put them back."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    originals = [(path, value) for path, value in json.loads(sys.stdin.readline())]
    _say({"said": READY})
    while sys.stdin.read(1 << 12):
        pass
    restore(originals)


def _say(answer: dict[str, object]) -> None:
    try:
        print(json.dumps(answer), flush=True)
    except OSError:  # the other process has ended
        os._exit(0)


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123
        return file.read().strip()

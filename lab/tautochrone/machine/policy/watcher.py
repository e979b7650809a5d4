"""A small process that puts the frequency policy back when the one that changed it ends, however it ends.

It is told what stood where before the first change, and then waits for the end of its input: that comes when
the other process lets go, and also when that is killed. It has a session of its own and ignores the signals
that end a group of processes. It knows nothing of the package around it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

# Imported rather than run as a script: the folder of a script comes first in its path.
COMMAND = (
    *(sys.executable, "-I", "-S", "-c"),
    "import sys; sys.path.append(sys.argv[1]); import watcher; watcher.main()",
    os.path.dirname(os.path.abspath(__file__)),  # noqa: PTH100, PTH120
)
READY, RESTORED = "ready", "restored"
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGTSTP)


def restore(originals: list[tuple[str, str]]) -> list[str]:
    """Write everything back, twice: what one file refuses at first may be taken once another one is back.

    Returns what could not be written, a line each.
    """
    refused: list[str] = []
    for _ in range(2):
        refused = []
        for path, value in originals:
            try:
                if _read(path) == value:
                    continue
                with open(path, "w") as file:  # noqa: PTH123
                    file.write(value)
            except OSError as error:
                refused.append(f"{path}: {error.strerror or error}")
    return refused


def main() -> None:
    """Read the originals, one JSON line; wait for the end of the input; put them back and say so."""
    for one in _IGNORED:
        signal.signal(one, signal.SIG_IGN)
    originals = [(path, value) for path, value in json.loads(sys.stdin.readline())]
    _say({"said": READY})
    while sys.stdin.read(1 << 12):
        pass
    _say({"said": RESTORED, "refused": restore(originals)})


def _say(answer: dict[str, object]) -> None:
    try:
        print(json.dumps(answer), flush=True)
    except OSError:  # nobody listens any more
        os._exit(0)


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123
        return file.read().strip()

"""What a launcher starts on a node: a process that reads shares of jobs, a line each, and answers them.

Its first line says that it is there and how many CPUs it has, and it does as many shares at a time. It ends
with its input, so nothing goes on where the command that asked has been killed.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath

import msgspec

from tautochrone.jobs import work
from tautochrone.machine.runners import RUNNERS_VARIABLE
from tautochrone.pool import Pool

_BY_A_SHELL = ("ssh", "rsh")
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
# The variable is handed over in words: not every launcher hands over the environment.
_START = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); "
    f"os.environ.update({{{RUNNERS_VARIABLE!r}: sys.argv[2]}} if sys.argv[2] else {{}}); "
    "from tautochrone.jobs import worker; worker.main()"
)


class Hello(msgspec.Struct, frozen=True):
    """The first line: which node it is, and how many shares it does at a time."""

    node: str
    width: int


class Share(msgspec.Struct, frozen=True):
    """A line that it reads."""

    number: int
    kind: str
    version: str
    asked: list[str]


class Answered(msgspec.Struct, frozen=True):
    """A line that it writes."""

    number: int
    outcome: work.Outcome


def command(launcher: Sequence[str]) -> list[str]:
    """The words that start it on a node; ssh makes one line of them for a shell."""
    runners = os.environ.get(RUNNERS_VARIABLE, "")
    named = str(Path(runners).resolve()) if runners else ""
    words = [sys.executable, "-P", "-c", _START, str(_PACKAGE_FOLDER), named]
    return (
        [*launcher, shlex.join(words)] if PurePath(launcher[0]).name in _BY_A_SHELL else [*launcher, *words]
    )


def main() -> None:
    turn = threading.Lock()
    width = len(os.sched_getaffinity(0))

    def say(line: Hello | Answered) -> None:
        with turn:
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
            sys.stdout.buffer.flush()

    def answer(share: Share) -> None:
        say(Answered(share.number, work.done(share.kind, share.version, share.asked)))

    say(Hello(socket.gethostname(), width))
    pool = Pool(width)
    decoder = msgspec.json.Decoder(Share)
    for line in sys.stdin.buffer:
        pool.submit(partial(answer, decoder.decode(line)))
    os._exit(0)  # whoever asked has gone: what is being done is for nobody

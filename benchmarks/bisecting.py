"""How often a bisection of real runs names the right commit: ``python benchmarks/bisecting.py``.

Each trial makes a repository of 64 commits, of which one makes a program that counts slower, builds the
program at each commit that is asked for, and searches. A word is wrong where another commit is named; where
the search says that it cannot tell, it is right and of no use.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.run import main_of
from tautochrone.comparing.bisect import bisect
from tautochrone.comparing.bisected import Bisected
from tautochrone.comparing.measure import measure
from tautochrone.comparing.settings import Settings
from tautochrone.options import Option

_STEPS = 4_000_000
_PROGRAM = "int main(void) { for (volatile long i = 0; i < STEPS; ++i) {} return 0; }\n"
_BUILD = "cc -O1 -DSTEPS=$(cat steps) prog.c -o prog"
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")


def repository(folder: Path, commits: int, slow: int, step: float) -> list[str]:
    """Make it, with a change of the time at commit `slow`; the commits, the good end first."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *_WHO, *words], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    (folder / "prog.c").write_text(_PROGRAM)
    found = []
    for number in range(commits + 1):
        (folder / "steps").write_text(f"{round(_STEPS * (1.0 + step * (number >= slow)))}\n")
        (folder / "number").write_text(f"{number}\n")
        git("add", "--all")
        git("commit", "--quiet", "--message", f"Change {number}")
        found.append(git("rev-parse", "HEAD"))
    return found


def trial(chance: random.Random, commits: int, step: float) -> tuple[Bisected, bool]:
    """One search, and whether it named the right commit."""
    slow = chance.randint(1, commits)
    with tempfile.TemporaryDirectory(prefix="tauto-bisecting-") as name:
        folder = Path(name)
        made = repository(folder, commits, slow, step)
        found = bisect(
            [made[0], made[-1]],
            ["./prog"],
            Settings(seed=chance.randrange(1 << 30)),
            measure,
            build=_BUILD,
            say=lambda _: None,
            here=folder,
        )
    return found, found.commit == made[slow]


@dataclass(frozen=True, kw_only=True)
class BisectingRequest:
    """Bisect repositories whose slow commit is known, and count the right answers."""

    trials: Annotated[int, Option("How many searches.")] = 20
    commits: Annotated[int, Option("Among how many commits.")] = 64
    step: Annotated[float, Option("How much slower the slow commit makes the program.")] = 0.03
    seed: Annotated[int | None, Option("Of the places of the slow commits. Default: the time.")] = None

    def run(self) -> int:
        seed = self.seed if self.seed is not None else time.time_ns() % 1_000_000
        print(f"seed {seed}, load {os.getloadavg()[0]:.1f}", flush=True)
        chance = random.Random(seed)
        right = wrong = 0
        for number in range(1, self.trials + 1):
            begun = time.monotonic()
            found, is_right = trial(chance, self.commits, self.step)
            right += is_right
            wrong += found.told and not is_right
            seconds = time.monotonic() - begun
            print(f"{right} right, {wrong} wrong of {number}; {seconds:.0f} s: {found.answer}", flush=True)
        return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return main_of("bisecting", BisectingRequest, arguments)


if __name__ == "__main__":
    sys.exit(main())

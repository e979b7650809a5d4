"""Small git repositories, and a measurement of entries that runs nothing."""

from __future__ import annotations

import math
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tautochrone import text, verdicts
from tautochrone.comparing import sentences
from tautochrone.comparing.result import Compared, Side
from tautochrone.comparing.settings import Entry, Settings
from tautochrone.measuring.clock import VirtualClock

WHO = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class ToyRepository:
    """A repository with a script `prog` that says its revision."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words],
            cwd=self.path,
            env={**os.environ, **WHO},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def write(self, name: str, content: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)

    def commit(self, subject: str, **files: str) -> str:
        """Write files (a double underscore is a dot) and commit all; returns the commit."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD")

    def state(self) -> dict[str, str]:
        """All that a comparison must leave alone."""
        files = {
            str(path.relative_to(self.path)): path.read_bytes().hex()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and ".git" not in path.parts[len(self.path.parts) :]
        }
        kept = {
            name: (self.path / ".git" / name).read_bytes().hex()
            for name in ("index", "config", "HEAD")
            if (self.path / ".git" / name).exists()
        }
        return {**files, **kept, "refs": self.git("for-each-ref"), "trees": self.git("worktree", "list")}


class FakeMeasure:
    """Takes each command's seconds from `seconds_of`, with log-normal noise, on a virtual clock.

    `rounds` runs of each, or eight; `drift`: how much slower the machine is after 1000 s.
    """

    def __init__(
        self,
        seconds_of: Callable[[Entry], float | None],
        *,
        noise: float = 0.0,
        drift: float = 0.0,
        seed: int = 1,
        clock: VirtualClock | None = None,
    ) -> None:
        self.seconds_of = seconds_of
        self.noise, self.drift = noise, drift
        self.chance = random.Random(seed)
        self.clock = clock or VirtualClock()
        self.asked: list[list[Entry]] = []
        self.settings: list[Settings] = []

    def __call__(self, entries: Sequence[Entry], settings: Settings) -> Compared:
        self.asked.append(list(entries))
        self.settings.append(settings)
        usual = [self.seconds_of(entry) for entry in entries]
        rounds = settings.rounds or 8
        points: list[list[float]] = [[] for _ in entries]
        for _ in range(rounds):
            for place in self.chance.sample(range(len(entries)), len(entries)):
                seconds = usual[place]
                if seconds is None:
                    continue
                seconds *= math.exp(self.chance.gauss(0.0, self.noise))
                seconds *= 1.0 + self.drift * self.clock.monotonic() / 1000.0
                self.clock.advance(seconds)
                points[place].append(seconds)
        return compared_of(entries, points, objective=settings.objective)


def compared_of(
    entries: Sequence[Entry], points: Sequence[Sequence[float]], *, objective: str = "time"
) -> Compared:
    """The answer that these values of each round give."""
    sides = []
    for place, (entry, own) in enumerate(zip(entries, points, strict=True)):
        paired = list(zip(own, points[0], strict=False))
        centre = verdicts.median_interval(own) if own else None
        sides.append(
            Side(
                name=entry.asked.name,
                words=entry.asked.words,
                figure=centre.median if centre else None,
                low=centre.low if centre else None,
                high=centre.high if centre else None,
                points=tuple(own),
                ratio=verdicts.as_ratio(verdicts.compare(paired)) if place else None,
                error="" if own else "failed in 2 of 2 runs: exit code 1",
                runs=len(own),
            )
        )
    found = Compared(
        answer="",
        sides=tuple(sides),
        objective=objective,
        less=("faster", "slower"),
        rounds=max(map(len, points)),
        looks=(max(map(len, points)),),
        confidence=verdicts.VERDICT_CONFIDENCE,
    )
    return sentences.answered(found, text.seconds)

"""``tauto compare --revisions GOOD BAD --bisect``: which commit changed the time of a command.

Each commit on the way is measured in the same rounds as both ends, and is taken for one of the side that it
is closer to: the sign of 2 log c - log g - log b, round by round, so half of the difference is the threshold
and no figure is carried from one sitting to another. A sign test judges the median of these signs, and is
exact for any noise (see `verdicts`). The error that is allowed for the whole search is divided among the
decisions that may still come, and that of a decision among its looks (Bonferroni), so their sum bounds the
search whatever the decisions depend on.

The search itself is that of git: `git rev-list --bisect-all` names the commits that halve the suspects best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import msgspec

from tautochrone import text, verdicts
from tautochrone.comparing.bisected import Bisected
from tautochrone.comparing.result import Side
from tautochrone.comparing.revisions import Measure, Say, ready, resolved, to_stderr
from tautochrone.comparing.settings import Entry, Settings
from tautochrone.comparing.worktrees import AS_IT_IS, NotBuilt, Repository, Revision, Worktrees, worktrees
from tautochrone.errors import TautoError
from tautochrone.measuring.clock import Clock, SystemClock
from tautochrone.verdicts import Comparison, Ratio

ERROR = 1.0 - verdicts.VERDICT_CONFIDENCE
DEFAULT_BUDGET_SECONDS = 3600.0
_STAGES = (16, 16, 32, 64, 128, 256)
"""The rounds of a decision between its looks; together below the 999 that the exact test is meant for."""

_LEAST_ROUNDS = 8
_WIDTH = 0.5  # of the interval that is reported, by the difference
_WHOLE_SHARE = 0.75  # of the difference; below it another commit has a share that is worth a search


class History(Protocol):
    """The commits between two, and what runs at each of them."""

    def suspects(self, bad: str, good: Sequence[str]) -> list[str]:
        """What `bad` has and none of `good`: `bad` itself last, before it what halves them best first."""

    def parent(self, commit: str) -> str:
        """Its first parent."""

    def subject(self, commit: str) -> str:
        """The first line of its message."""

    def entry(self, slot: str, commit: str) -> Entry:
        """The command at that commit. What the `slot` had before is gone. Raises NotBuilt."""


class _OutOfTime(Exception):
    """The budget is over."""


@dataclass
class Search:
    """A search for the commit that made the difference between `good` and `bad`, within a budget."""

    history: History
    measure: Measure
    settings: Settings
    say: Say = to_stderr
    clock: Clock = field(default_factory=SystemClock)
    error: float = ERROR

    def run(self, good: str, bad: str) -> Bisected:
        """Find it. TautoError where one of the ends cannot be measured."""
        self._left = self.error
        self._end = self.clock.monotonic() + (self.settings.budget_seconds or DEFAULT_BUDGET_SECONDS)
        self._skipped: dict[str, str] = {}
        self._measured = 0
        self._round_seconds: dict[int, float] = {}
        self._ends = [self.history.entry("good", good), self.history.entry("bad", bad)]
        total = self._total(self._decisions(len(self.history.suspects(bad, [good]))))
        if total.verdict not in (verdicts.FASTER, verdicts.SLOWER):
            return self._nothing(total)
        up = total.verdict == verdicts.SLOWER
        suspects = self._narrow(good, bad, 1.0 if up else -1.0)
        if len(suspects) > 1:
            return self._several(total, suspects)
        return self._found(good, bad, suspects[0], total, up)

    def _narrow(self, good: str, bad: str, sign: float) -> list[str]:
        """The commits that are left, the last of them known to be on BAD's side."""
        goods = [good]
        skips = 0
        while True:
            suspects = self.history.suspects(bad, goods)
            open_ones = [one for one in suspects if one != bad and one not in self._skipped]
            if not open_ones:
                return suspects
            number = self._decisions(len(suspects))
            candidate = open_ones[_away(len(open_ones), skips)]
            self.say(
                f"{text.count(len(suspects), 'commit')} left, about {text.count(number, 'step')}: "
                f"{candidate[:10]} {self.history.subject(candidate)}"
            )
            try:
                is_bad = self._decide(candidate, sign, number)
            except _OutOfTime:
                return suspects
            except TautoError as error:
                # The ends have run before, so what failed is this commit.
                self._skipped[candidate] = error.message
                skips += 1
                continue
            if is_bad is None:
                self._skipped[candidate] = "it cannot be told which end it is closer to"
                skips += 1
                continue
            skips = 0
            if is_bad:
                bad = candidate
            else:
                goods.append(candidate)

    def _decide(self, candidate: str, sign: float, number: int) -> bool | None:
        """Whether it is closer to BAD; None where that cannot be told."""
        error = self._spend(number)
        entries = [*self._ends, self.history.entry("candidate", candidate)]
        self._measured += 1
        scores: list[float] = []
        for sides, looks in self._stages(entries, number):
            scores += [
                sign * (2.0 * math.log(own) - math.log(low) - math.log(high))
                for low, high, own in zip(*(side.points for side in sides), strict=True)
            ]
            low, high = _bounds(scores, error / looks)
            if low > 0.0 or high < 0.0:
                return low > 0.0
        return None

    def _total(self, number: int) -> Ratio:
        """BAD by GOOD, as far as its difference from 1 needs."""
        return self._ratio(self._ends, self._spend(number + 1), number, math.inf)

    def _ratio(self, entries: Sequence[Entry], error: float, number: int, most_wide: float) -> Ratio:
        """The second by the first, measured until it is told from 1 or no stage is left.

        And until the interval is at most `most_wide` times the difference.
        """
        pairs: list[tuple[float, float]] = []
        found = verdicts.compare([])
        try:
            for sides, looks in self._stages(entries, number):
                pairs += zip(sides[1].points, sides[0].points, strict=True)
                found = verdicts.compare(pairs, confidence=1.0 - error, comparisons=looks)
                if found.verdict in (verdicts.FASTER, verdicts.SLOWER) and self._is_narrow(found, most_wide):
                    break
        except _OutOfTime:
            pass
        return verdicts.as_ratio(found)

    def _is_narrow(self, found: Comparison, most_wide: float) -> bool:
        if not found.ratio or not found.low or not found.high:
            return False
        wide = math.log(found.high / found.low)
        return wide <= max(2.0 * self.settings.precision, most_wide * abs(math.log(found.ratio)))

    def _stages(self, entries: Sequence[Entry], number: int) -> Iterator[tuple[tuple[Side, ...], int]]:
        """Rounds, stage by stage, and the number of stages; `number` decisions share the time that is left.

        TautoError where a side fails.
        """
        own_end = self.clock.monotonic() + (self._end - self.clock.monotonic()) / max(1, number)
        for stage, wanted in enumerate(_STAGES):
            rounds = min(wanted, self._affordable(len(entries), self._end if stage == 0 else own_end))
            if rounds < _LEAST_ROUNDS and self._round_seconds:
                if stage == 0:
                    raise _OutOfTime
                return
            begun = self.clock.monotonic()
            settings = replace(self.settings, rounds=max(rounds, _LEAST_ROUNDS), output=None)
            compared = self.measure(entries, replace(settings, budget_seconds=None))
            for side in compared.sides:
                if side.error or len(side.points) != settings.rounds:
                    raise TautoError(f"{side.name} {side.error or 'has no figure in some rounds'}")
            self._round_seconds[len(entries)] = (self.clock.monotonic() - begun) / max(
                1, settings.rounds or 1
            )
            yield compared.sides, len(_STAGES)

    def _affordable(self, commands: int, end: float) -> int:
        """Rounds until then, by what a round took so far."""
        if not self._round_seconds:
            return max(_STAGES)
        seconds = max(own * commands / number for number, own in self._round_seconds.items())
        left = end - self.clock.monotonic()
        return max(0, int(left / seconds)) if seconds > 0 else max(_STAGES)

    @staticmethod
    def _decisions(suspects: int) -> int:
        """How many decisions may still come, if none is skipped; at least 1."""
        return max(1, math.ceil(math.log2(max(2, suspects))))

    def _spend(self, number: int) -> float:
        """The error of the next of `number` decisions; one share stays for the ratio at the end."""
        share = self._left / (number + 1)
        self._left -= share
        return share

    def _nothing(self, total: Ratio) -> Bisected:
        names = " and ".join(entry.asked.name for entry in self._ends)
        if total.low is None:
            return Bisected(
                answer=f"It cannot be told whether {names} differ: there was no time for enough rounds.",
                total=total,
                error=self.error,
            )
        return Bisected(
            answer=f"No difference between {names} is resolved ({self._in_words(text.unresolved(total))}, "
            f"{text.count(total.rounds, 'round')}), so there is no commit to look for.",
            total=total,
            error=self.error,
        )

    def _several(self, total: Ratio, suspects: Sequence[str]) -> Bisected:
        words = text.joined([f"{one[:10]} ({self.history.subject(one)})" for one in suspects[:5]])
        more = f" and {len(suspects) - 5} others" if len(suspects) > 5 else ""
        left = [one for one in suspects if one not in self._skipped]
        why = (
            "the time is over: give it more with --budget"
            if len(left) > 1
            else "the others cannot be built, run or told"
        )
        return Bisected(
            answer=f"It is one of {len(suspects)} commits, {words}{more}; {why}. {self._evidence()}",
            total=total,
            error=self.error,
            measured=self._measured,
            suspects=tuple(suspects),
            skipped=self._skips(),
        )

    def _found(self, good: str, bad: str, commit: str, total: Ratio, up: bool) -> Bisected:
        parent = self.history.parent(commit)
        ratio = total if (parent, commit) == (good, bad) else self._last_ratio(parent, commit)
        told = ratio.value is not None and ratio.low is not None
        words = ("slower" if up else "faster") if self.settings.objective == "time" else "change"
        subject = self.history.subject(commit)
        size = f": {self._size(ratio)}" if told else ""
        return Bisected(
            answer=f"{commit[:10]} made it {words} ({subject}){size}. {self._evidence()}",
            commit=commit,
            subject=subject,
            parent=parent,
            ratio=ratio,
            total=total,
            error=self.error,
            measured=self._measured,
            suspects=(commit,),
            skipped=self._skips(),
            remarks=tuple(self._remarks(ratio, total, good, bad, parent, commit)),
        )

    def _last_ratio(self, parent: str, commit: str) -> Ratio:
        """The commit by its parent, in rounds of their own."""
        try:
            both = [self.history.entry("good", parent), self.history.entry("candidate", commit)]
            return self._ratio(both, self._left, 1, _WIDTH)
        except TautoError:
            return verdicts.as_ratio(verdicts.compare([]))

    def _size(self, ratio: Ratio) -> str:
        evidence = text.count(ratio.rounds, "round")
        if ratio.verdict == verdicts.NO_DIFFERENCE:
            return self._in_words(f"against its parent {text.unresolved(ratio)} ({evidence})")
        return self._in_words(text.less_time(ratio, "its parent", evidence))

    def _in_words(self, of_time: str) -> str:
        """The words for time, as those for what is compared."""
        return of_time if self.settings.objective == "time" else of_time.replace(" time", "")

    def _evidence(self) -> str:
        odds = round(1.0 / self.error)
        return (
            f"{text.count(self._measured, 'commit')} {'was' if self._measured == 1 else 'were'} measured "
            f"beside the ends; such a search is wrong in at most 1 of {odds}."
        )

    def _skips(self) -> tuple[str, ...]:
        return tuple(f"{commit[:10]} was skipped: {why}" for commit, why in self._skipped.items())

    def _remarks(
        self, ratio: Ratio, total: Ratio, good: str, bad: str, parent: str, commit: str
    ) -> Iterator[str]:
        if ratio.value is None:
            yield f"the parent of {commit[:10]} could not be measured beside it"
            return
        if ratio.verdict == verdicts.NO_DIFFERENCE:
            yield (
                f"{commit[:10]} is not resolved from its parent: it may be one of several small steps, "
                "with which half of the difference is passed"
            )
            return
        share = math.log(ratio.value) / math.log(total.value or ratio.value)
        if share < _WHOLE_SHARE:
            rest = " or ".join(
                f"--revisions {first[:10]} {last[:10]}"
                for first, last in ((good, parent), (commit, bad))
                if first != last
            )
            yield f"it is about {100 * share:.0f} % of the difference; look for the rest with {rest}"


def _bounds(scores: Sequence[float], error: float) -> tuple[float, float]:
    """Ends that the median exceeds, or falls below, with at most that probability each."""
    rank = verdicts.sign_interval_rank(len(scores), 1.0 - 2.0 * error)
    if rank == 0:
        return -math.inf, math.inf
    ordered = sorted(scores)
    return ordered[rank - 1], ordered[-rank]


def _away(count: int, skips: int) -> int:
    """Which of the best candidates to take: neighbours of one that was skipped likely are too."""
    if skips == 0:
        return 0
    place, fraction, number = 0.0, 0.5, skips  # van der Corput: 1/2, 1/4, 3/4, 1/8 …
    while number:
        place += fraction * (number % 2)
        number, fraction = number // 2, fraction / 2.0
    return int(count * place**1.5)


def bisect(
    revisions: Sequence[str],
    words: Sequence[str],
    settings: Settings,
    measure: Measure,
    *,
    build: str | None = None,
    say: Say = to_stderr,
    clock: Clock | None = None,
    here: Path | None = None,
) -> Bisected:
    """Find the commit between GOOD and BAD that changed the command's figure.

    TautoError where the ends cannot be built or measured, or where GOOD is no ancestor of BAD.
    """
    repository, ends = resolved(revisions, words, here)
    _check(repository, ends)
    with _history(repository, ends, words, build, say) as history:
        search = Search(history, measure, settings, say, clock or SystemClock())
        found = search.run(ends[0].commit, ends[1].commit)
    if repository.is_dirty():
        remark = "changes that are not committed were not measured"
        found = msgspec.structs.replace(found, remarks=(*found.remarks, remark))
    return found


def _check(repository: Repository, ends: Sequence[Revision]) -> None:
    if len(ends) != 2:
        raise TautoError(f"--bisect got {len(ends)} revisions", "Name two: --revisions GOOD BAD")
    good, bad = ends
    if good.as_it_is or bad.as_it_is:
        raise TautoError(
            f"--bisect looks among commits, and {text.joined(AS_IT_IS)} is none", "Commit first, or name HEAD"
        )
    base = repository.merge_base(good.commit, bad.commit)
    if base == good.commit:
        return
    if base == bad.commit:
        raise TautoError(f"{good.name} comes after {bad.name}", f"Write --revisions {bad.name} {good.name}")
    remedy = f"Name their last common commit: --revisions {base[:10]} {bad.name}" if base else "Name others"
    raise TautoError(
        f"{good.name} is no ancestor of {bad.name}, so nothing leads from one to the other", remedy
    )


@contextmanager
def _history(
    repository: Repository, ends: Sequence[Revision], words: Sequence[str], build: str | None, say: Say
) -> Iterator[History]:
    with worktrees(repository, say) as made:
        names = {end.commit: end.name for end in ends}
        yield GitHistory(repository, made, lambda commit: names.get(commit, commit[:10]), words, build)


@dataclass
class GitHistory:
    """The history of a repository, and three worktrees that are used again."""

    repository: Repository
    made: Worktrees
    name: Callable[[str], str]
    words: Sequence[str]
    build: str | None
    _slots: dict[str, Path] = field(default_factory=dict)
    _subjects: dict[str, str] = field(default_factory=dict)

    def suspects(self, bad: str, good: Sequence[str]) -> list[str]:
        without = [f"^{one}" for one in good]
        lines = self.repository.git("rev-list", "--bisect-all", bad, *without).splitlines()
        commits = [line.split()[0] for line in lines]
        return [*(one for one in commits if one != bad), bad]

    def parent(self, commit: str) -> str:
        return self.repository.git("rev-parse", f"{commit}^1").strip()

    def subject(self, commit: str) -> str:
        if commit not in self._subjects:
            self._subjects[commit] = self.repository.subject(commit)
        return self._subjects[commit]

    def entry(self, slot: str, commit: str) -> Entry:
        revision = Revision(self.name(commit), commit, self.subject(commit))
        if slot not in self._slots:
            self._slots[slot] = self.made.new(revision)
            return ready(self.made, self._slots[slot], revision, self.words, self.build)
        path = self._slots[slot]
        self.made.switch(path, commit)
        try:
            return ready(self.made, path, revision, self.words, self.build)
        except NotBuilt:
            # What another commit left may be why.
            self.made.clean(path)
            return ready(self.made, path, revision, self.words, self.build)

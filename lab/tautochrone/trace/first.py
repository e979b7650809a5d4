"""The first screen of a trace: the time as it was, against the least that its work could take."""

from __future__ import annotations

import shlex

from tautochrone import text
from tautochrone.report import picture
from tautochrone.report.analysis import Bar, Picture, Settings
from tautochrone.report.first_screen import Shown
from tautochrone.trace.findings import Findings
from tautochrone.trace.threads import Traced

_ONCE = "seen once"


def first_screen(traced: Traced, judged: Findings) -> Shown:
    command = shlex.join(traced.command)
    flag = "--balance " if traced.balance is not None else ""
    drawn = _picture(traced, judged)
    return Shown(
        kicker="tautochrone · trace",
        sentence=judged.advice,
        picture=picture.in_page(drawn) if drawn is not None else "",
        facts=(
            ("Imbalance", _imbalance(judged)),
            ("Waited for CPUs", waited(judged)),
            ("Migrations", migrations(traced, judged)),
        ),
        paste=Settings(
            label="Look again, or look for better settings",
            language="shell",
            text=f"tauto trace {flag}-- {command}\ntauto tune -- {command}",
        ),
        can_copy=False,
    )


def _picture(traced: Traced, judged: Findings) -> Picture | None:
    """What the threads worked, shared evenly: among as many as there are, and among all CPUs."""
    seconds, threads, cpus = traced.ended.seconds, len(judged.workers), len(traced.cpus)
    work = sum(track.run_seconds for track in judged.workers)
    if not seconds or not work:
        return None
    bars = [Bar(label="this run", role="now", value=1.0, written=text.seconds(seconds), interval=_ONCE)]
    for count, whose in ((threads, "thread"), (cpus, "CPU")):
        if whose == "thread" and not 1 < threads < cpus:
            continue
        least = work / min(count, cpus)
        bars.append(
            Bar(
                label=f"its work shared evenly by {text.count(count, whose)}",
                role="best" if whose == "CPU" else "other",
                value=least / seconds,
                written=text.seconds(least),
                interval="at least",
            )
        )
    return Picture(title="time relative to this run", bars=tuple(bars))


def _imbalance(judged: Findings) -> str:
    if judged.imbalance is None:
        return "not known"
    return f"{judged.imbalance:.2f}: busiest of {text.count(len(judged.workers), 'thread')} over the mean"


def waited(judged: Findings) -> str:
    """The share of the time in which the working threads could have run and did not."""
    ran = sum(track.run_seconds for track in judged.workers)
    waits = [track.wait_seconds for track in judged.workers if track.wait_seconds is not None]
    total = ran + sum(waits)
    return text.percent(sum(waits) / total) if waits and total > 0 else text.UNKNOWN


def migrations(traced: Traced, judged: Findings) -> str:
    rate = judged.migrations_per_second
    counted = "counted by the kernel" if traced.migrations is not None else "seen by the samples, at least"
    return "not known" if rate is None else f"{text.significant(rate)} a second ({counted})"

"""Where the time of a simulated collective is odd: it has no noise, so two numbers are enough to tell."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4  # places of a curve in a sentence


def peaks(words: Sequence[int], seconds: Sequence[float]) -> list[int]:
    """Lengths that take longer than some greater length."""
    found = []
    for i, here in enumerate(seconds):
        if any(later < 0.995 * here for later in seconds[i + 1 :]):
            found.append(words[i])
    return found


def steps(words: Sequence[int], seconds: Sequence[float]) -> list[int]:
    """Lengths from which on a word costs at least a fifth more than just before."""
    return [
        words[i]
        for i in range(1, len(words))
        if seconds[i] / seconds[i - 1] > 1.2 * max(1.0, words[i] / words[i - 1])
    ]


def in_words(words: Sequence[int], times: Sequence[float]) -> str:
    """Where a curve is odd: "steps up at 512 and longer than for a greater length at 384 words"."""
    parts = []
    if found := steps(words, times):
        parts.append(f"steps up at {_listed(found)}")
    if found := peaks(words, times):
        parts.append(f"longer than for a greater length at {_listed(found)}")
    return f"{' and '.join(parts)} words" if parts else "neither step nor peak"


def _listed(words: Sequence[int]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN + 1 else ""
    return ", ".join(f"{one:,}" for one in (words[:_SHOWN] if more else words)) + more

"""Where the time of a simulated collective is odd: it has no noise, so two numbers are enough to tell."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4  # places of a curve in a sentence


def peaks(words: Sequence[int], seconds: Sequence[float]) -> list[int]:
    """Lengths that take longer than some greater length."""
    return [
        length
        for place, (length, time) in enumerate(zip(words, seconds, strict=True))
        if any(later < 0.995 * time for later in seconds[place + 1 :])
    ]


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
    if lengths := steps(words, times):
        parts.append(f"steps up at {_listed(lengths)}")
    if lengths := peaks(words, times):
        parts.append(f"longer than for a greater length at {_listed(lengths)}")
    return f"{' and '.join(parts)} words" if parts else "neither step nor peak"


def _listed(words: Sequence[int]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN + 1 else ""
    return ", ".join(f"{length:,}" for length in (words[:_SHOWN] if more else words)) + more

"""Numbers as a person writes them: units attached, three significant digits, never 0 for "unknown"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tautochrone.report.analysis_types import Ratio

UNKNOWN = "not measured"
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def significant(value: float, digits: int = 3) -> str:
    """``value`` with that many significant digits, without an exponent: 0.0123, 4.57, 1230."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # the exponent of the rounded number: 0.9996 has the one of 1.00
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    decimals = max(0, digits - 1 - exponent)
    return f"{value:.{decimals}f}"


def quantity(value: float | None, unit: str) -> str:
    """``value`` with the SI prefix that keeps it between 1 and 1000: 0.0021 s is "2.10 ms"."""
    if value is None:
        return UNKNOWN
    for factor, prefix in _PREFIXES:
        # 0.9995 would be printed as 1000 of the smaller unit
        if abs(value) >= factor * 0.9995:
            return f"{significant(value / factor)} {prefix}{unit}"
    return f"{significant(value / 1e-9)} n{unit}" if value else f"0 {unit}"


def seconds(value: float | None) -> str:
    """A time: "2.10 ms"; no kiloseconds."""
    if value is not None and value >= 1000:
        return f"{value:.0f} s"
    return quantity(value, "s")


def seconds_interval(low: float | None, high: float | None) -> str:
    """A time's interval: "2.05 ms to 2.17 ms"; empty when there is none."""
    return f"{seconds(low)} to {seconds(high)}" if low is not None and high is not None else ""


def energy_error(value: float | None) -> str:
    """Relative, with one digit behind the point: "3.8e-09"."""
    return f"{value:.1e}" if value is not None else UNKNOWN


def binary_bytes(value: float | None) -> str:
    """A size of memory or cache in binary units: "2 MiB"."""
    if value is None:
        return UNKNOWN
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} TiB"


def ratio_parts(value: Ratio) -> tuple[str, str]:
    """A ratio and its interval, ("0.71", "0.69 to 0.74"), each empty when there is none.

    Two decimals; more where an interval that excludes 1 would be rounded to touch it.
    """
    if value.value is None:
        return "", ""
    if value.low is None or value.high is None:
        return f"{value.value:.2f}", ""
    decimals = 2
    while decimals < 4 and value.verdict in ("faster", "slower"):
        if round(value.low, decimals) > 1 or round(value.high, decimals) < 1:
            break
        decimals += 1
    return f"{value.value:.{decimals}f}", f"{value.low:.{decimals}f} to {value.high:.{decimals}f}"


def ratio(value: Ratio) -> str:
    """A ratio with its interval beside it: "0.71 (0.69 to 0.74)"."""
    number, interval = ratio_parts(value)
    return f"{number} ({interval})" if interval else number or UNKNOWN


def sentence(words: str) -> str:
    """The words as a sentence: a capital first, one full stop last."""
    trimmed = words.strip().rstrip(".")
    return f"{trimmed[:1].upper()}{trimmed[1:]}." if trimmed else ""


def percent(value: float | None) -> str:
    """A share of 1 as per cent: "37 %"."""
    return UNKNOWN if value is None else f"{100 * value:.{0 if value >= 0.1 or value == 0 else 1}f} %"


def count(number: int, noun: str) -> str:
    """A number with its noun, for nouns that form their plural with s: "1 run", "2 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cores(kinds: Mapping[str, int]) -> str:
    """How many cores of which kind: "8 P + 16 E"; "2 cores" where all are alike."""
    present = [(kind, number) for kind, number in kinds.items() if number]
    if not present:
        return "no cores"
    if len(present) == 1 and present[0][0] == "core":
        return count(present[0][1], "core")
    return " + ".join(f"{number} {'equal' if kind == 'core' else kind}" for kind, number in present)


def cpu_list(cpus: Iterable[int]) -> str:
    """CPU numbers as Linux writes them: "0-3, 8"."""
    numbers = sorted(set(cpus))
    parts: list[str] = []
    start = 0
    for index, number in enumerate(numbers):
        if index + 1 == len(numbers) or numbers[index + 1] != number + 1:
            first = numbers[start]
            parts.append(str(first) if first == number else f"{first}-{number}")
            start = index + 1
    return ", ".join(parts) if parts else "none"


def situation(emulated: Mapping[str, float]) -> str:
    """The state of the machine in a cell: "as the machine is", "CPU 1 made 4× slower (emulated)"."""
    slowed = [(cpu, factor) for cpu, factor in emulated.items() if factor != 1]
    if not slowed:
        return "The machine as it is"
    return ", ".join(f"CPU {cpu} made {factor:g}× slower" for cpu, factor in slowed) + " (emulated)"

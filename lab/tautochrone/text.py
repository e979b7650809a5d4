"""Numbers as a person writes them: units attached, three significant digits, never 0 for "unknown"."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tautochrone.verdicts import MINIMUM_ROUNDS, NO_DIFFERENCE, Ratio

if TYPE_CHECKING:
    from rich.table import Table

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


def interval(low: float | None, high: float | None, decimals: int = 2) -> str:
    """An interval, to follow its figure: " (1.94 to 1.98)"; empty where there is none."""
    return "" if low is None or high is None else f" ({low:.{decimals}f} to {high:.{decimals}f})"


def speed_up(time: Ratio, unit: str = " times") -> str:
    """A time by another's as a speed-up: 0.51 (0.505 to 0.515) is "1.96 times (1.94 to 1.98)"."""
    found = time.inverse()
    return UNKNOWN if found.value is None else f"{found.value:.2f}{unit}{interval(found.low, found.high)}"


def sentence(words: str) -> str:
    """The words as a sentence: a capital first, one full stop last."""
    trimmed = words.strip().rstrip(".")
    return f"{trimmed[:1].upper()}{trimmed[1:]}." if trimmed else ""


def percent(value: float | None) -> str:
    """A share of 1 as per cent: "37 %"."""
    return UNKNOWN if value is None else f"{100 * value:.{0 if value >= 0.1 or value == 0 else 1}f} %"


def as_json(value: object, indent: int = 0) -> str:
    """A structure as JSON; `indent` 0: in one line. A byte of a name that is no text is an escape in it."""
    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:  # msgspec has no word for such a byte
        return json.dumps(msgspec.to_builtins(value), indent=indent or None)
    return (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()


def joined(words: Sequence[str]) -> str:
    """["a", "b", "c"] → "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


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


def format_bytes(count: float) -> str:
    """1234567 → "1.2 MB" (powers of 1000)."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} EB"


_WIDE = 1.25  # high end of an interval by its low end
_HALF_GONE, _HALF_MORE = 0.5, 1.5


_TIMES = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight"}


def times(factor: float) -> str:
    """4.0 → "four times", 2.5 → "2.5 times"."""
    word = _TIMES.get(int(factor)) if factor == int(factor) else None
    return f"{word or f'{factor:g}'} times"


def less_time(found: Ratio, than: str = "", evidence: str = "") -> str:
    """0.63 (0.61, 0.65) → "37 % less time (35 to 39 %, 12 rounds) than a plain loop".

    ValueError for a ratio without a verdict.
    """
    if found.value is None or found.low is None or found.high is None:
        raise ValueError("a ratio without an interval cannot be put into words")
    ends = sorted(abs(1 - end) * 100 for end in (found.low, found.high))
    middle = abs(1 - found.value) * 100
    inside = ", ".join(filter(None, (f"{digits(ends[0])} to {digits(ends[1])} %", evidence)))
    direction = "less" if found.value < 1 else "more"
    words = f"{digits(middle)} % {direction} time ({inside})"
    return f"{words} than {than}" if than else words


def outcome(found: Ratio, ours: str, evidence: str) -> str:
    """What a comparison says, such as ours + " takes 37 % less time (35 to 39 %, 12 rounds)"."""
    if found.verdict == NO_DIFFERENCE:
        return f"no difference was resolved ({unresolved(found)}, {evidence})"
    return f"{ours} takes {less_time(found, evidence=evidence)}"


def too_few_rounds(rounds: int) -> str:
    return f"{rounds} complete rounds are fewer than the {MINIMUM_ROUNDS} that a verdict needs"


def digits(value: float) -> str:
    """12.3 → "12", 1.23 → "1.2": the digits that a percentage deserves."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def unresolved(found: Ratio) -> str:
    """How small a difference could hide: the interval in per cent. ValueError without one."""
    if found.low is None or found.high is None:
        raise ValueError("a ratio without an interval cannot be put into words")
    between = f"between {signed(found.low)} and {signed(found.high)} time"
    if wide(found):
        return f"{between}: too wide to say much, so measure again on a quieter machine"
    return between


def wide(found: Ratio) -> bool:
    """True where an interval is so wide that it says little."""
    return found.low is not None and found.high is not None and found.high / found.low > _WIDE


def says_nothing(found: Ratio) -> bool:
    """True where the time may be half as much again or half of it gone: then no advice rests on it."""
    if found.low is None or found.high is None:
        return True
    return found.verdict == NO_DIFFERENCE and (found.low < _HALF_GONE or found.high > _HALF_MORE)


def signed(end: float) -> str:
    """0.9 → "10 % less", 1.1 → "10 % more"."""
    return f"{digits(abs(1 - end) * 100)} % {'less' if end < 1 else 'more'}"


def frequency_policy(record: Mapping[str, object]) -> str:
    """Driver, governor, preference, turbo and profile, as far as the machine shows them; else nothing."""
    preference = record.get("energy_performance_preference")
    turbo, profile = record.get("turbo"), record.get("platform_profile")
    words = [
        record.get("frequency_driver"),
        record.get("governor"),
        preference and f"preference {preference}",
        None if turbo is None else f"turbo {'on' if turbo else 'off'}",
        profile and f"profile {profile}",
    ]
    return ", ".join(str(word) for word in words if word)


def names_and_words(style: str = "dim") -> Table:
    """A table for the terminal of two columns: a name, and what is said of it."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=style, no_wrap=True)
    grid.add_column(overflow="fold")
    return grid

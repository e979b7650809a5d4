"""The frequency settings of a machine, and the policies made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.energy.meter import Tree

_CPUS = "/sys/devices/system/cpu"
_PROFILE = "/sys/firmware/acpi/platform_profile"
_NO_TURBO = f"{_CPUS}/intel_pstate/no_turbo"
_BOOST = f"{_CPUS}/cpufreq/boost"
_SWITCHES = {_NO_TURBO: ("on", "off"), _BOOST: ("off", "on")}  # what 0 and 1 say of turbo clocks
_NOT_FOR_MEASURING = ("userspace",)  # the user must set the clock

GOVERNOR, PREFERENCE, TURBO, PROFILE = "governor", "preference", "turbo", "profile"
_FILES = {GOVERNOR: "scaling_governor", PREFERENCE: "energy_performance_preference"}
_CHOICES = {GOVERNOR: "scaling_available_governors", PREFERENCE: "energy_performance_available_preferences"}
# A profile changes the preference, and under the governor `performance` no preference can be written. This
# order works for setting and for restoring.
ORDER = (PROFILE, TURBO, GOVERNOR, PREFERENCE)

Writes = list[tuple[str, str]]
"""Files and the text to write into them, in order."""


@dataclass(frozen=True)
class Policy:
    """A name, and the value of each knob that it changes; without values, the unmodified machine."""

    name: str
    values: Mapping[str, str]


class Knobs:
    """The knobs of a machine below a root."""

    def __init__(self, tree: Tree | None = None) -> None:
        self.tree = tree or Tree()
        cpus = [name for name in self.tree.names(_CPUS) if name[:3] == "cpu" and name[3:].isdecimal()]
        self._folders = [
            f"{_CPUS}/{cpu}/cpufreq" for cpu in cpus if self.tree.exists(f"{_CPUS}/{cpu}/cpufreq")
        ]

    def files(self, knob: str) -> list[str]:
        """The files of a knob; one for each CPU if CPUs have their own."""
        if knob in _FILES:
            paths = [f"{folder}/{_FILES[knob]}" for folder in self._folders]
        elif knob == TURBO:
            paths = [_NO_TURBO if self.tree.exists(_NO_TURBO) else _BOOST]
        else:
            paths = [_PROFILE]
        return [path for path in paths if self.tree.exists(path)]

    def choices(self, knob: str) -> list[str]:
        """The values that a knob may have on every CPU."""
        if knob in _CHOICES:
            lists = [(self.tree.text(f"{folder}/{_CHOICES[knob]}") or "").split() for folder in self._folders]
            return [value for value in lists[0] if all(value in other for other in lists)] if lists else []
        if knob == TURBO:
            return ["on", "off"] if self.files(TURBO) else []
        return (self.tree.text(f"{_PROFILE}_choices") or "").split()

    def now(self) -> dict[str, str | None]:
        """The value of each knob; joined by "/" if CPUs differ, None if the machine has no such knob."""
        return {knob: self._value(knob) for knob in ORDER}

    def policies(self) -> list[Policy]:
        """The unmodified machine, and every policy that differs from it in one setting."""
        return [
            Policy("as-it-is", {}),
            *self._steps(GOVERNOR, _NOT_FOR_MEASURING),
            *self._preferences(),
            *self._steps(PROFILE),
            *self._steps(TURBO),
        ]

    def writes(self, policy: Policy) -> Writes:
        return [
            (path, _raw(path, policy.values[knob]))
            for knob in ORDER
            if knob in policy.values
            for path in self.files(knob)
        ]

    def originals(self, policies: Iterable[Policy]) -> Writes:
        """The present values of the files that these policies may change.

        A profile and a governor change the preference, so it is always included.
        """
        turned = {knob for policy in policies for knob in policy.values}
        if turned:
            turned.add(PREFERENCE)
        return [
            (path, self.tree.text(path) or "")
            for knob in ORDER
            if knob in turned
            for path in self.files(knob)
        ]

    def _steps(self, knob: str, without: Sequence[str] = ()) -> list[Policy]:
        """A policy for each other value of a knob."""
        now = self._value(knob)
        others = [value for value in self.choices(knob) if value not in (now, *without)]
        return [Policy(f"{knob}-{value}", {knob: value}) for value in others]

    def _preferences(self) -> list[Policy]:
        """The preferences. The governor performance refuses them, so they are combined with another one."""
        steps = self._steps(PREFERENCE, ("default",))
        if self._value(GOVERNOR) != "performance":
            return steps
        dynamic = [governor for governor in self.choices(GOVERNOR) if governor != "performance"][:1]
        return [
            Policy(policy.name, {GOVERNOR: governor, **policy.values})
            for governor in dynamic
            for policy in steps
        ]

    def _value(self, knob: str) -> str | None:
        values = [_word(path, self.tree.text(path) or "") for path in self.files(knob)]
        return "/".join(dict.fromkeys(values)) or None


def _word(path: str, raw: str) -> str:
    if path not in _SWITCHES:
        return raw
    zero, one = _SWITCHES[path]
    return one if raw == "1" else zero


def _raw(path: str, word: str) -> str:
    if path not in _SWITCHES:
        return word
    return "1" if word == _SWITCHES[path][1] else "0"

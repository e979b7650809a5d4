"""What a machine lets one set, and the policies that can be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.energy.tree import Tree

_CPUS = "/sys/devices/system/cpu"
_PROFILE = "/sys/firmware/acpi/platform_profile"
_NO_TURBO = f"{_CPUS}/intel_pstate/no_turbo"
_BOOST = f"{_CPUS}/cpufreq/boost"
_NOT_FOR_MEASURING = ("userspace",)  # needs a clock to be set by hand

GOVERNOR, PREFERENCE, TURBO, PROFILE = "governor", "preference", "turbo", "profile"
_FILES = {GOVERNOR: "scaling_governor", PREFERENCE: "energy_performance_preference"}
_CHOICES = {GOVERNOR: "scaling_available_governors", PREFERENCE: "energy_performance_available_preferences"}
# A profile moves the preference, and under `performance` no preference may be written: this order works both
# for setting and for putting back.
ORDER = (PROFILE, TURBO, GOVERNOR, PREFERENCE)

Writes = list[tuple[str, str]]
"""Files with what to write into them, in order."""


@dataclass(frozen=True)
class Policy:
    """A name, and for each knob that it turns the value; none: the machine as it is."""

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
        """The files of a knob; one for each CPU where CPUs have their own."""
        if knob in _FILES:
            found = [f"{folder}/{_FILES[knob]}" for folder in self._folders]
        elif knob == TURBO:
            found = [_NO_TURBO if self.tree.exists(_NO_TURBO) else _BOOST]
        else:
            found = [_PROFILE]
        return [path for path in found if self.tree.exists(path)]

    def choices(self, knob: str) -> list[str]:
        """The values that a knob may have on every CPU."""
        if knob in _CHOICES:
            lists = [(self.tree.text(f"{folder}/{_CHOICES[knob]}") or "").split() for folder in self._folders]
            return [one for one in lists[0] if all(one in other for other in lists)] if lists else []
        if knob == TURBO:
            return ["on", "off"] if self.files(TURBO) else []
        return (self.tree.text(f"{_PROFILE}_choices") or "").split()

    def now(self) -> dict[str, str | None]:
        """The value of each knob; several are joined by "/" where CPUs differ, None where there is none."""
        return {knob: self._value(knob) for knob in ORDER}

    def policies(self) -> list[Policy]:
        """The machine as it is, and every single step away from it that the machine has."""
        return [
            Policy("as-it-is", {}),
            *self._steps(GOVERNOR, _NOT_FOR_MEASURING),
            *self._preferences(),
            *self._steps(PROFILE),
            *self._steps(TURBO),
        ]

    def writes(self, policy: Policy) -> Writes:
        """What to write where for a policy."""
        return [
            (path, _raw(path, policy.values[knob]))
            for knob in ORDER
            if knob in policy.values
            for path in self.files(knob)
        ]

    def originals(self, policies: Iterable[Policy]) -> Writes:
        """What to write back after these policies: the files that they may move, as they are now.

        A profile and a governor move the preference, so that is always among them.
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

    def differing(self, originals: Sequence[tuple[str, str]]) -> list[str]:
        """The files that do not hold what they held."""
        return [path for path, value in originals if self.tree.text(path) != value]

    def _steps(self, knob: str, without: Sequence[str] = ()) -> list[Policy]:
        """A policy for each other value of one knob."""
        now = self._value(knob)
        others = [one for one in self.choices(knob) if one not in (now, *without)]
        return [Policy(f"{knob}-{value}", {knob: value}) for value in others]

    def _preferences(self) -> list[Policy]:
        """The preferences; where the governor is performance, which refuses them, with another governor."""
        steps = self._steps(PREFERENCE, ("default",))
        if self._value(GOVERNOR) != "performance":
            return steps
        dynamic = [one for one in self.choices(GOVERNOR) if one != "performance"][:1]
        return [Policy(one.name, {GOVERNOR: governor, **one.values}) for governor in dynamic for one in steps]

    def _value(self, knob: str) -> str | None:
        values = [_word(path, self.tree.text(path) or "") for path in self.files(knob)]
        return "/".join(dict.fromkeys(values)) or None


def _word(path: str, raw: str) -> str:
    if path == _NO_TURBO:
        return "off" if raw == "1" else "on"
    if path == _BOOST:
        return "on" if raw == "1" else "off"
    return raw


def _raw(path: str, word: str) -> str:
    if path == _NO_TURBO:
        return "1" if word == "off" else "0"
    if path == _BOOST:
        return "1" if word == "on" else "0"
    return word

"""The candidates of a search: what is tried, on which finding each rests, and what is never started."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tautochrone.errors import TautoError
from tautochrone.inspection.findings import Findings
from tautochrone.studies.options import format_cpus, parse_cpus
from tautochrone.tune.expert import THREADS, expert_settings
from tautochrone.tune.knobs import Knob, Settings, knobs, missing, not_asked_for
from tautochrone.tune.options import TuneRequest, placeholders
from tautochrone.tune.values import (
    Place,
    first_cpus,
    processor_count,
    processor_counts,
    threads_a_rank,
    values_of,
    weights_of,
)

DEFAULT = "default"
_CPUS = "cpus"
_JVM_PROCESSORS = "jvm_processors"
_SIZED_BY_MASK = ("tbb", "qt")  # no variable sets their number of threads: the CPUs that they may use do
_SLOTS = "slot:PE="
_WRITTEN = {  # what the values of knobs that are no variables look like, and one for example
    "nice": (r"-?[0-9]+", "5"),
    "weighted_places": (r"[0-9]+:[1-9][0-9]*(,[0-9]+:[1-9][0-9]*)*", "0:4,1:1"),
    "mpi_ranks": (r"[1-9][0-9]*x[1-9][0-9]*", "4x2"),
}
_MOST_COMBINATIONS = 1_000_000  # looked at; a random part of more


@dataclass(frozen=True)
class Candidate:
    """Settings in the race. The default is the command as it is: no settings at all."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class Tried:
    """A knob with the values that are tried, and the finding that speaks for it."""

    knob: Knob
    values: tuple[str, ...]
    because: str


@dataclass(frozen=True)
class Space:
    """What is in the race and what is not. ``expert`` is None where the rule leaves everything as it is."""

    candidates: tuple[Candidate, ...]
    tried: tuple[Tried, ...]
    left_out: tuple[tuple[str, str], ...]  # knob, why
    combinations: int  # valid ones; more than candidates where only a part is tried
    expert: str | None

    @property
    def default(self) -> Candidate:
        """The command as it is."""
        return self.candidates[0]


def build_space(request: TuneRequest, found: Findings, place: Place) -> Space:
    """All candidates of a request whose names were checked. TautoError where there is nothing to try."""
    tried, left_out = _tried(request, found, place)
    _refuse_unused_threads(request, found, tried, left_out)
    base = default_settings(request)
    combined: list[dict[str, str]] = []
    for settings in _combinations(tried, request.seed):
        together = {**base, **settings, **request.fixed}
        if together == base or invalid(together, request.fixed) or _excluded(together, request.excluded):
            continue
        if "mpi_map" in request.fixed or not _other_slots(together, place):
            combined.append(together)
    unique = list({tuple(sorted(one.items())): one for one in combined}.values())
    expert = _expert({one.knob.name: one.values for one in tried}, request, found, place, base)
    chosen = _chosen(unique, expert, request)
    if not chosen:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
        raise TautoError(
            f"there is nothing to try for this program ({reasons})" if reasons else "there is nothing to try",
            "Name settings of its own: --env NAME=a,b or --arg '-t {threads}' --threads 1..4",
        )
    candidates = (Candidate(DEFAULT, base), *(Candidate(name_of(one, base), one) for one in chosen))
    return Space(
        candidates=candidates,
        tried=tuple(tried),
        left_out=tuple(left_out),
        combinations=len(unique),
        expert=name_of(expert, base) if expert else None,
    )


def name_of(settings: Settings, base: Settings) -> str:
    """Settings in one line, without what the default has too."""
    words = [f"{name}={value}" for name, value in settings.items() if base.get(name) != value]
    return " ".join(words) or DEFAULT


def invalid(settings: Settings, fixed: Settings = MappingProxyType({})) -> str:
    """Why a combination is never started; empty for one that may be.

    What is fixed may stand beside weighted places that set the same.
    """
    table = knobs()
    for name in settings:
        one = table.get(name)
        if one is None:
            continue
        for other in one.conflicts:
            if other in settings and not _same(name, other, settings, fixed):
                return f"{name} and {other} say different things of the same"
        for rule in one.never:
            if why := _never(name, rule, settings):
                return why
    threads = settings.get("OMP_NUM_THREADS")
    if threads is not None and threads.isdecimal():
        room = _room(settings)
        if room is not None and int(threads) > room:
            return f"{threads} threads have {room} places"
    return _crowded_cpus(settings) or _misplaced_ranks(settings)


def _crowded_cpus(settings: Settings) -> str:
    """Why a pool would have more threads than the CPUs that it may use."""
    if _CPUS not in settings:
        return ""
    room = len(parse_cpus(settings[_CPUS]))
    for name, value in settings.items():
        if name in knobs() and knobs()[name].values in (THREADS, _JVM_PROCESSORS):
            count = processor_count(value)
            if count is not None and count > room:
                return f"{name}={value} would have {count} threads on {room} CPUs"
    return ""


def _misplaced_ranks(settings: Settings) -> str:
    """Why ranks with several threads would be without room for them, or have room in two ways."""
    bound, slots = settings.get("mpi_bind"), settings.get("mpi_map", "").startswith(_SLOTS)
    if slots and bound == "none":
        return f"mpi_map={settings['mpi_map']} binds ranks and mpi_bind=none does not"
    count = threads_a_rank(settings.get("mpi_ranks", f"1x{settings.get('OMP_NUM_THREADS')}"))
    if bound == "core" and count > 1 and not slots:
        return f"mpi_bind=core leaves the {count} threads of a rank one core"
    return ""


def _other_slots(settings: Settings, place: Place) -> bool:
    """Whether ranks would have other numbers of cores than their threads fill."""
    slots = settings.get("mpi_map", "")
    if not slots.startswith(_SLOTS):
        return False
    cores = int(slots.removeprefix(_SLOTS))
    return threads_a_rank(settings.get("mpi_ranks", "1x1")) != cores * place.threads_a_core


def _same(name: str, other: str, settings: Settings, fixed: Settings) -> bool:
    """Whether one of two knobs is fixed at what the other one, which sets several variables, sets too."""
    for several, single in ((name, other), (other, name)):
        if knobs()[several].kind == "places" and single in fixed:
            return weighted_variables(settings[several]).get(single) == settings[single]
    return False


def _never(name: str, rule: str, settings: Settings) -> str:
    """A rule such as "spread with OMP_PLACES=threads" or "* with OMP_NUM_THREADS=1"."""
    value, _, other = rule.partition(" with ")
    key, _, wanted = other.partition("=")
    if value in ("*", settings[name]) and key in settings and wanted in ("", settings[key]):
        return f"{name}={settings[name]} means nothing with {other}"
    return ""


def _room(settings: Settings) -> int | None:
    """How many OpenMP threads the places of these settings are made for; None where they name none."""
    listed = settings.get("OMP_PLACES", "")
    if listed.startswith("{"):
        return listed.count("{")
    return None


def check_names(request: TuneRequest) -> None:
    """TautoError for options that name no knob, and for words in braces without values."""
    names = {*knobs(), *request.environment, *request.values}
    for text in (*request.excluded, *request.also):
        if text.partition("=")[0] not in names:
            raise TautoError(
                f"there is no knob {text.partition('=')[0]!r} to try or to exclude",
                f"There are {', '.join(sorted(names))}",
            )
    for name, value in request.fixed.items():
        _check_value(f"--fix {name}={value}", name, value)
    for name, values in request.environment.items():
        for value in values:
            _check_value(f"--env {name}={value}", name, value)
    in_command = _in_command(request)
    for name in in_command:
        if name in knobs():
            raise TautoError(
                f"{{{name}}} cannot stand in the command: {name} is a knob, which would be set too",
                f"Give it another name, such as {{own_{name}}}",
            )
        if name not in request.values:
            option = "--threads 1..16" if name == THREADS else f"--value {name}=a,b"
            raise TautoError(
                f"nothing says what {{{name}}} stands for",
                f"Add {option}; if the program itself reads {{{name}}}, add --value '{name}=:{{{name}}}'",
            )
    for name in request.values:
        if name not in in_command and name != THREADS:
            raise TautoError(
                f"--value {name} changes nothing: {{{name}}} stands nowhere in the command",
                f"Write {{{name}}} into the command, or add --arg '{{{name}}}'",
            )


def _check_value(option: str, name: str, value: str) -> None:
    """TautoError for a value that a knob cannot have, of those that tauto itself has to read."""
    if name in _WRITTEN:
        pattern, like = _WRITTEN[name]
        if not re.fullmatch(pattern, value):
            raise TautoError(f"{option} is no value of {name}", f"Write it like {name}={like}")
    elif name == _CPUS:
        parse_cpus(value)


def _in_command(request: TuneRequest) -> tuple[str, ...]:
    """The names in braces, in the command and in what may be added to it."""
    return tuple(placeholders([word for words in (request.command, *request.arguments) for word in words]))


def _refuse_unused_threads(
    request: TuneRequest, found: Findings, tried: Sequence[Tried], left_out: Sequence[tuple[str, str]]
) -> None:
    """TautoError for numbers of threads that nothing would take."""
    takers = [one.name for one in knobs().values() if one.values in (THREADS, _JVM_PROCESSORS)]
    if found.has(*_SIZED_BY_MASK):
        takers.append(_CPUS)
    if THREADS not in request.values or THREADS in _in_command(request):
        return
    if any(one.knob.name in takers for one in tried):
        return
    why = dict.fromkeys(f"{name}: {why}" for name, why in left_out if name in takers)
    settled = [f"--fix settles {name}" for name in request.fixed if name in takers]
    raise TautoError(
        f"--threads {','.join(request.values[THREADS])} changes nothing: "
        f"no runtime here takes a number of threads ({'; '.join([*settled, *why][:3])})",
        "Write {threads} where the command takes it, as in xz -T{threads}, or add --arg '-t {threads}'",
    )


def _tried(request: TuneRequest, found: Findings, place: Place) -> tuple[list[Tried], list[tuple[str, str]]]:
    """The knobs with more than the default to try, and the others with the reason."""
    tried: list[Tried] = []
    left_out: list[tuple[str, str]] = []
    for name in _in_command(request):
        own = Knob(name=name, title=f"{{{name}}} in the command", kind="argument", values=(), explain="")
        tried.append(Tried(own, request.values[name], "you named it"))
    for one in knobs().values():
        if one.name in request.environment or one.name in request.fixed:
            continue
        why = _why_not(one, request, found, place)
        if not why:
            values = _values(one, request, found, place)
            because = _because(one, found, place)
            emptied = not values and any(text.startswith(f"{one.name}=") for text in request.excluded)
            why, values = _beside_fixed(one, values, request.fixed)
            why = "you excluded all that is left of its values" if emptied else why
            if values:
                tried.append(Tried(one, values, because))
                continue
        left_out.append((one.name, why))
    for name, values in request.environment.items():
        known = knobs().get(name)
        one = known or Knob(name=name, title=name, kind="environment", values=(), explain="")
        tried.append(Tried(one, values, "you named it"))
    return tried, left_out


def _because(one: Knob, found: Findings, place: Place) -> str:
    """All findings that speak for a knob: runtime, calls, cores, launcher."""
    facts = {
        "asks_schedule": found.schedules.evidence,
        "static_loops": found.schedules.evidence,
        "unequal": _speeds_in_words(place),
        "mpi_launcher": f"{found.mpi_launcher} stands in the command",
    }
    runtime = [found.why(*one.needs)] if one.needs else []
    if one.name == _CPUS and found.counts_cpus:
        runtime = [found.counts_cpus]
    said = [*runtime, *(facts[name] for name in one.requires if name in facts)]
    return "; ".join(dict.fromkeys(said)) or "every program has it"


def _speeds_in_words(place: Place) -> str:
    """Which CPUs are slower than which, and by how much where that was measured."""
    slow = [cpu for cpu in place.numbers if cpu not in place.fast]
    fast = f"CPU {format_cpus(place.fast)} at full speed, CPU {format_cpus(slow)}"
    known = [speed for cpu, speed in (place.speeds or {}).items() if cpu in slow]
    if not known:
        return f"{fast} of a slower kind"
    low, high = f"{min(known):.2g}", f"{max(known):.2g}"
    return f"{fast} measured at {low if low == high else f'{low} to {high}'} of it"


def _why_not(one: Knob, request: TuneRequest, found: Findings, place: Place) -> str:
    if one.name in request.excluded:
        return "you excluded it"
    if why := missing(one, found, place.facts):
        return why
    return "" if one.name in request.also else not_asked_for(one, request.objective, found)


def _values(one: Knob, request: TuneRequest, found: Findings, place: Place) -> tuple[str, ...]:
    values = values_of(one.values, place)
    gone = {text.partition("=")[2] for text in request.excluded if text.startswith(f"{one.name}=")}
    if one.values == THREADS and THREADS in request.values:
        values = request.values[THREADS]
    elif one.values == _JVM_PROCESSORS and THREADS in request.values:
        values = processor_counts(request.values[THREADS])
    elif one.name == _CPUS and THREADS in request.values and found.has(*_SIZED_BY_MASK):
        values = first_cpus(request.values[THREADS], place)
    elif one.values == THREADS and place.usable == len(place.numbers):
        gone.add(str(place.usable))  # what every runtime takes by itself
    return tuple(value for value in values if value not in gone)


def _beside_fixed(one: Knob, values: tuple[str, ...], fixed: Settings) -> tuple[str, tuple[str, ...]]:
    """The values that may stand beside what is fixed, and why there are none where there are none."""
    why = "the machine leaves nothing to choose"
    kept = []
    for value in values:
        against = invalid({one.name: value, **fixed}, fixed)
        if against and not invalid({one.name: value}):
            why = f"{against}, and --fix settles that"
        else:
            kept.append(value)
    return why, tuple(kept)


def default_settings(request: TuneRequest) -> dict[str, str]:
    """Those of the default: what stands in braces in the command itself has the first of its values."""
    return {name: request.values[name][0] for name in placeholders(request.command)}


def _combinations(tried: Sequence[Tried], seed: int) -> Iterator[dict[str, str]]:
    """Every choice of at most one value a knob; of too many a random part, with all single ones."""
    choices: list[list[str | None]] = [[None, *one.values] for one in tried]
    names = [one.knob.name for one in tried]
    count = 1
    for values in choices:
        count *= len(values)
    if count <= _MOST_COMBINATIONS:
        picks: Iterable[Sequence[str | None]] = itertools.product(*choices)
    else:
        chance = random.Random(f"{seed} combinations")
        picks = itertools.chain(
            ([value if at == index else None for at in range(len(choices))]
             for index, values in enumerate(choices) for value in values),
            ([chance.choice(values) for values in choices] for _ in range(_MOST_COMBINATIONS // 10)),
        )  # fmt: skip
    for pick in picks:
        yield {name: value for name, value in zip(names, pick, strict=True) if value is not None}


def _excluded(settings: Settings, excluded: Sequence[str]) -> bool:
    return any(f"{name}={value}" in excluded for name, value in settings.items())


def _chosen(
    unique: list[dict[str, str]], expert: dict[str, str] | None, request: TuneRequest
) -> list[dict[str, str]]:
    """All, or of too many the expert's, those that change one knob, and a random part of the others."""
    places = request.most_candidates - 1
    first = [expert] if expert else []
    rest = [one for one in unique if one != expert]
    if len(first) + len(rest) <= places:
        return [*first, *rest]
    fewest = min(len(one) for one in rest)
    single = [one for one in rest if len(one) <= fewest]
    others = [one for one in rest if len(one) > fewest]
    random.Random(f"{request.seed} candidates").shuffle(others)
    return [*first, *single, *others][:places]


def _expert(
    tried: Mapping[str, Sequence[str]], request: TuneRequest, found: Findings, place: Place, base: Settings
) -> dict[str, str] | None:
    """The expert's settings, as far as they may be tried; None where they leave everything as it is."""
    wanted = expert_settings(tried, found, place)
    known = {name: value for name, value in wanted.items() if value in tried.get(name, ())}
    settings = {**base, **known, **request.fixed}
    if settings == dict(base) or invalid(settings, request.fixed) or _excluded(settings, request.excluded):
        return None
    return settings


def openmp_variables(weights: Mapping[int, int]) -> dict[str, str]:
    """What weighted places set: each CPU as often as it has shares, one thread each, and no spinning."""
    listed = [cpu for cpu, shares in weights.items() for _ in range(shares)]
    return {
        "OMP_NUM_THREADS": str(len(listed)),
        "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in listed),
        "OMP_PROC_BIND": "close",
        "OMP_WAIT_POLICY": "passive",
        "OMP_DYNAMIC": "false",
    }


def weighted_variables(value: str) -> dict[str, str]:
    """The variables of a value of the knob weighted_places."""
    return openmp_variables(weights_of(value))

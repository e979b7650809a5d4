"""The candidates of a search: what is tried, on which finding it rests, and what is never started."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tautochrone.errors import TautoError
from tautochrone.inspection.findings import Findings
from tautochrone.options import format_cpus, parse_cpus
from tautochrone.text import count
from tautochrone.tune.answer import Finding
from tautochrone.tune.knobs import Knob, Settings, knobs, missing, not_asked_for
from tautochrone.tune.options import TuneRequest, placeholders
from tautochrone.tune.values import (
    THREADS,
    Place,
    expert_settings,
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
_WRITTEN = {  # knobs that are not variables: the pattern of their values, and an example
    "nice": (r"-?[0-9]+", "5"),
    "balance": (r"threads", "threads"),
    "weighted_places": (r"[0-9]+:[1-9][0-9]*(,[0-9]+:[1-9][0-9]*)*", "0:4,1:1"),
    "mpi_ranks": (r"[1-9][0-9]*x[1-9][0-9]*", "4x2"),
}
_MOST_COMBINATIONS = 1_000_000  # of more, a random part is looked at


@dataclass(frozen=True)
class Candidate:
    """Settings to be measured. The default is the command as it is: no settings at all."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class Space:
    """What is tried and what is not. ``expert`` is None where the rule leaves everything as it is."""

    candidates: tuple[Candidate, ...]
    tried: tuple[Finding, ...]
    left_out: tuple[Finding, ...]
    combinations: int  # valid ones; more than candidates where only a part is tried
    expert: str | None

    @property
    def default(self) -> Candidate:
        return self.candidates[0]


def build_space(request: TuneRequest, findings: Findings, place: Place) -> Space:
    """All candidates of a request whose names were checked. TautoError where there is nothing to try."""
    tried, left_out = _tried(request, findings, place)
    _refuse_unused_threads(request, findings, tried, left_out)
    base = default_settings(request)
    combined: list[dict[str, str]] = []
    for settings in _combinations(tried, request.seed):
        together = {**base, **settings, **request.fixed}
        if together == base or invalid(together, request.fixed) or _excluded(together, request.excluded):
            continue
        if "mpi_map" in request.fixed or not _other_slots(together, place):
            combined.append(together)
    unique = list({tuple(sorted(settings.items())): settings for settings in combined}.values())
    expert = _expert({knob.knob: knob.values for knob in tried}, request, findings, place, base)
    chosen = _chosen(unique, expert, request)
    if not chosen:
        reasons = "; ".join(f"{knob.knob}: {knob.because}" for knob in left_out[:3])
        raise TautoError(
            f"there is nothing to try for this program ({reasons})" if reasons else "there is nothing to try",
            "Name settings of its own: --env NAME=a,b or --arg '-t {threads}' --threads 1..4",
        )
    candidates = (
        Candidate(DEFAULT, base),
        *(Candidate(name_of(settings, base), settings) for settings in chosen),
    )
    return Space(
        candidates=candidates,
        tried=tuple(tried),
        left_out=tuple(left_out),
        combinations=len(unique),
        expert=name_of(expert, base) if expert else None,
    )


def name_of(settings: Settings, base: Settings) -> str:
    """Settings in one line, without those that the default has too."""
    words = [f"{name}={value}" for name, value in settings.items() if base.get(name) != value]
    return " ".join(words) or DEFAULT


def invalid(settings: Settings, fixed: Settings = MappingProxyType({})) -> str:
    """Why a combination is never started; empty for one that may be.

    A fixed setting may be combined with weighted places that set the same.
    """
    table = knobs()
    for name in settings:
        knob = table.get(name)
        if knob is None:
            continue
        for other in knob.conflicts:
            if other in settings and not _same(name, other, settings, fixed):
                return f"{name} and {other} set the same thing differently"
        for rule in knob.never:
            if why := _never(name, rule, settings):
                return why
    threads = settings.get("OMP_NUM_THREADS")
    places = settings.get("OMP_PLACES", "")
    room = places.count("{")  # in a list of places; words such as cores list none
    if threads is not None and threads.isdecimal() and places.startswith("{") and int(threads) > room:
        return f"{threads} threads, but {count(room, 'place')}"
    return _crowded_cpus(settings) or _misplaced_ranks(settings)


def _crowded_cpus(settings: Settings) -> str:
    """Why a pool would have more threads than CPUs; empty where it has not."""
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
    """Why a rank would have no room for its threads, or two rules for it; empty for neither."""
    bound, slots = settings.get("mpi_bind"), settings.get("mpi_map", "").startswith(_SLOTS)
    if slots and bound == "none":
        return f"mpi_map={settings['mpi_map']} binds ranks and mpi_bind=none does not"
    count = threads_a_rank(settings.get("mpi_ranks", f"1x{settings.get('OMP_NUM_THREADS')}"))
    if bound == "core" and count > 1 and not slots:
        return f"mpi_bind=core leaves one core for the {count} threads of a rank"
    return ""


def _other_slots(settings: Settings, place: Place) -> bool:
    """Whether a rank would have another number of cores than its threads fill."""
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


def check_names(request: TuneRequest) -> None:
    """TautoError for options that name no knob, and for names in braces without values."""
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
                f"{{{name}}} cannot be used in the command: {name} is a knob, which would be set too",
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
                f"--value {name} changes nothing: {{{name}}} is not in the command",
                f"Write {{{name}}} into the command, or add --arg '{{{name}}}'",
            )


def _check_value(option: str, name: str, value: str) -> None:
    """TautoError for a wrong value of a knob that tauto itself has to read."""
    if name in _WRITTEN:
        pattern, like = _WRITTEN[name]
        if not re.fullmatch(pattern, value):
            raise TautoError(f"{option} is not a value of {name}", f"Write it like {name}={like}")
    elif name == _CPUS:
        parse_cpus(value)


def _in_command(request: TuneRequest) -> tuple[str, ...]:
    """The names in braces, in the command and in what may be added to it."""
    return tuple(placeholders([word for words in (request.command, *request.arguments) for word in words]))


def _refuse_unused_threads(
    request: TuneRequest, findings: Findings, tried: Sequence[Finding], left_out: Sequence[Finding]
) -> None:
    """TautoError for numbers of threads that nothing would use."""
    takers = [knob.name for knob in knobs().values() if knob.values in (THREADS, _JVM_PROCESSORS)]
    if findings.has(*_SIZED_BY_MASK):
        takers.append(_CPUS)
    if THREADS not in request.values or THREADS in _in_command(request):
        return
    if any(knob.knob in takers for knob in tried):
        return
    why = dict.fromkeys(f"{knob.knob}: {knob.because}" for knob in left_out if knob.knob in takers)
    settled = [f"--fix settles {name}" for name in request.fixed if name in takers]
    raise TautoError(
        f"--threads {','.join(request.values[THREADS])} changes nothing: "
        f"no runtime here takes a number of threads ({'; '.join([*settled, *why][:3])})",
        "Write {threads} where the command takes it, as in xz -T{threads}, or add --arg '-t {threads}'",
    )


def _tried(request: TuneRequest, findings: Findings, place: Place) -> tuple[list[Finding], list[Finding]]:
    """The knobs with more than the default to try, and the others with the reason."""

    def named(name: str, values: tuple[str, ...]) -> Finding:
        return Finding(knob=name, values=values, because="you named it")

    tried = [named(name, request.values[name]) for name in _in_command(request)]
    left_out: list[Finding] = []
    for knob in knobs().values():
        if knob.name in request.environment or knob.name in request.fixed:
            continue
        why = _why_not(knob, request, findings, place)
        if not why:
            values = _values(knob, request, findings, place)
            because = _because(knob, findings, place)
            emptied = not values and any(text.startswith(f"{knob.name}=") for text in request.excluded)
            why, values = _beside_fixed(knob, values, request.fixed)
            why = "you excluded all that is left of its values" if emptied else why
            if values:
                tried.append(Finding(knob=knob.name, values=values, because=because))
                continue
        left_out.append(Finding(knob=knob.name, values=(), because=why))
    return [*tried, *(named(*variable) for variable in request.environment.items())], left_out


def _because(knob: Knob, findings: Findings, place: Place) -> str:
    """All findings on which a knob rests: runtime, calls, cores, launcher."""
    facts = {
        "asks_schedule": findings.schedules.evidence,
        "static_loops": findings.schedules.evidence,
        "unequal": _speeds_in_words(place),
        "mpi_launcher": f"{findings.mpi_launcher} is in the command",
    }
    runtime = [findings.why(*knob.needs)] if knob.needs else []
    if knob.name == _CPUS and findings.counts_cpus:
        runtime = [findings.counts_cpus]
    reasons = [*runtime, *(facts[name] for name in knob.requires if name in facts)]
    return "; ".join(dict.fromkeys(reasons)) or "every program has it"


def _speeds_in_words(place: Place) -> str:
    """The fast and the slow CPUs, and how much slower these are where that was measured."""
    slow = [cpu for cpu in place.numbers if cpu not in place.fast]
    fast = f"CPU {format_cpus(place.fast)} at full speed, CPU {format_cpus(slow)}"
    known = [speed for cpu, speed in (place.speeds or {}).items() if cpu in slow]
    if not known:
        return f"{fast} of a slower kind"
    low, high = f"{min(known):.2g}", f"{max(known):.2g}"
    return f"{fast} measured at {low if low == high else f'{low} to {high}'} of it"


def _why_not(knob: Knob, request: TuneRequest, findings: Findings, place: Place) -> str:
    if knob.name in request.excluded:
        return "you excluded it"
    if why := missing(knob, findings, place.unequal):
        return why
    return "" if knob.name in request.also else not_asked_for(knob, request.objective, findings)


def _values(knob: Knob, request: TuneRequest, findings: Findings, place: Place) -> tuple[str, ...]:
    values = values_of(knob.values, place)
    gone = {text.partition("=")[2] for text in request.excluded if text.startswith(f"{knob.name}=")}
    # The command may take words too, as in --threads auto; a list is OpenMP's for nested regions.
    counts = tuple(one for one in request.values.get(THREADS, ()) if one.replace(",", "").isdecimal())
    if knob.values == THREADS and THREADS in request.values:
        values = counts
    elif knob.values == _JVM_PROCESSORS and THREADS in request.values:
        values = processor_counts(counts)
    elif knob.name == _CPUS and THREADS in request.values and findings.has(*_SIZED_BY_MASK):
        values = first_cpus(counts, place)
    elif knob.values == THREADS and place.usable == len(place.numbers):
        gone.add(str(place.usable))  # the default of every runtime
    return tuple(value for value in values if value not in gone)


def _beside_fixed(knob: Knob, values: tuple[str, ...], fixed: Settings) -> tuple[str, tuple[str, ...]]:
    """Why no value can be combined with the fixed settings, and the values that can."""
    why = "the machine leaves nothing to choose"
    kept = []
    for value in values:
        conflict = invalid({knob.name: value, **fixed}, fixed)
        if conflict and not invalid({knob.name: value}):
            why = f"{conflict}, and --fix settles that"
        else:
            kept.append(value)
    return why, tuple(kept)


def default_settings(request: TuneRequest) -> dict[str, str]:
    """The default's settings: each name in braces in the command has the first of its values."""
    return {name: request.values[name][0] for name in placeholders(request.command)}


def _combinations(tried: Sequence[Finding], seed: int) -> Iterator[dict[str, str]]:
    """Every choice of at most one value for each knob; of too many, all single values and a random part."""
    choices: list[list[str | None]] = [[None, *knob.values] for knob in tried]
    names = [knob.knob for knob in tried]
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
    """All; of too many, the expert's, those that change one knob, and a random part of the others."""
    places = request.most_candidates - 1
    first = [expert] if expert else []
    rest = [settings for settings in unique if settings != expert]
    if len(first) + len(rest) <= places:
        return [*first, *rest]
    fewest = min(len(settings) for settings in rest)
    single = [settings for settings in rest if len(settings) <= fewest]
    others = [settings for settings in rest if len(settings) > fewest]
    random.Random(f"{request.seed} candidates").shuffle(others)
    return [*first, *single, *others][:places]


def _expert(
    tried: Mapping[str, Sequence[str]], request: TuneRequest, findings: Findings, place: Place, base: Settings
) -> dict[str, str] | None:
    """The expert's settings, as far as they may be tried; None where they change nothing."""
    wanted = expert_settings(tried, findings, place)
    known = {name: value for name, value in wanted.items() if value in tried.get(name, ())}
    settings = {**base, **known, **request.fixed}
    if settings == dict(base) or invalid(settings, request.fixed) or _excluded(settings, request.excluded):
        return None
    return settings


def weighted_variables(value: str) -> dict[str, str]:
    """The variables of weighted places: each CPU listed once for each of its shares, and no spinning."""
    listed = [cpu for cpu, shares in weights_of(value).items() for _ in range(shares)]
    return {
        "OMP_NUM_THREADS": str(len(listed)),
        "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in listed),
        "OMP_PROC_BIND": "close",
        "OMP_WAIT_POLICY": "passive",
        "OMP_DYNAMIC": "false",
    }

"""The candidates of a search: what is tried, on which finding each rests, and what is never started."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.inspection.findings import Findings
from tautochrone.studies.options import parse_cpus
from tautochrone.tune.knobs import Knob, Settings, knobs, missing
from tautochrone.tune.options import TuneRequest, placeholders
from tautochrone.tune.values import Place, values_of, weights_of

DEFAULT, EXPERT = "default", "expert"
THREADS = "threads"
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
    """All candidates. TautoError for options that name nothing, and where there is nothing to try."""
    _check_names(request)
    tried, left_out = _tried(request, found, place)
    base = _base(request, tried)
    combined: list[dict[str, str]] = []
    for settings in _combinations(tried, request.seed):
        together = {**base, **settings, **request.fixed}
        if together != base and not invalid(together) and not _excluded(together, request.excluded):
            combined.append(together)
    unique = list({tuple(sorted(one.items())): one for one in combined}.values())
    expert = _expert(request, found, place, tried, base)
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


def invalid(settings: Settings) -> str:
    """Why a combination is never started; empty for one that may be."""
    table = knobs()
    for name in settings:
        one = table.get(name)
        if one is None:
            continue
        for other in one.conflicts:
            if other in settings:
                return f"{name} and {other} say different things of the same"
        for rule in one.never:
            if why := _never(name, rule, settings):
                return why
    threads = settings.get("OMP_NUM_THREADS")
    if threads is not None and threads.isdecimal():
        room = _room(settings)
        if room is not None and int(threads) > room:
            return f"{threads} threads have {room} places"
    return ""


def _never(name: str, rule: str, settings: Settings) -> str:
    """A rule such as "spread with OMP_PLACES=threads" or "* with OMP_NUM_THREADS=1"."""
    value, _, other = rule.partition(" with ")
    key, _, wanted = other.partition("=")
    if value in ("*", settings[name]) and key in settings and wanted in ("", settings[key]):
        return f"{name}={settings[name]} means nothing with {other}"
    return ""


def _room(settings: Settings) -> int | None:
    """How many OpenMP threads the places of these settings are made for; None where they name none."""
    if "cpus" in settings:
        return len(parse_cpus(settings["cpus"]))
    listed = settings.get("OMP_PLACES", "")
    if listed.startswith("{"):
        return listed.count("{")
    return None


def _check_names(request: TuneRequest) -> None:
    names = {*knobs(), *request.environment, *request.values}
    for text in (*request.excluded, *request.also):
        if text.partition("=")[0] not in names:
            raise TautoError(
                f"there is no knob {text.partition('=')[0]!r} to try or to exclude",
                f"There are {', '.join(sorted(names))}",
            )
    for name in placeholders([word for words in (request.command, *request.arguments) for word in words]):
        if name not in request.values:
            option = "--threads 1..16" if name == THREADS else f"--value {name}=a,b"
            raise TautoError(f"nothing says what {{{name}}} stands for", f"Add {option}")


def _tried(request: TuneRequest, found: Findings, place: Place) -> tuple[list[Tried], list[tuple[str, str]]]:
    """The knobs with more than the default to try, and the others with the reason."""
    tried: list[Tried] = []
    left_out: list[tuple[str, str]] = []
    in_command = placeholders([word for words in (request.command, *request.arguments) for word in words])
    for name in in_command:
        own = Knob(name=name, title=f"{{{name}}} in the command", kind="argument", values=(), explain="")
        tried.append(Tried(own, request.values[name], "you named it"))
    for one in knobs().values():
        if one.name in request.environment or one.name in request.fixed:
            continue
        why = _why_not(one, request, found, place)
        if not why:
            values = _values(one, request, place)
            because = found.why(*one.needs) or "every program has it"
            if values:
                tried.append(Tried(one, values, because))
                continue
            why = "the machine leaves nothing to choose"
        left_out.append((one.name, why))
    for name, values in request.environment.items():
        known = knobs().get(name)
        one = known or Knob(name=name, title=name, kind="environment", values=(), explain="")
        tried.append(Tried(one, values, "you named it"))
    return tried, left_out


def _why_not(one: Knob, request: TuneRequest, found: Findings, place: Place) -> str:
    if one.name in request.excluded:
        return "you excluded it"
    if why := missing(one, found, place.facts):
        return why
    if one.name == "OMP_PROC_BIND" and THREADS in request.values and not found.has(*one.needs):
        return "the program has no OpenMP"
    if one.tried == "asked" and one.name not in request.also:
        return f"tried only with --try {one.name}"
    return ""


def _values(one: Knob, request: TuneRequest, place: Place) -> tuple[str, ...]:
    values = values_of(one.values, place)
    gone = {text.partition("=")[2] for text in request.excluded if text.startswith(f"{one.name}=")}
    if one.values == THREADS and THREADS in request.values:
        values = request.values[THREADS]
    elif one.values == THREADS and place.usable == len(place.numbers):
        gone.add(str(place.usable))  # what every runtime takes by itself
    return tuple(value for value in values if value not in gone)


def _base(request: TuneRequest, tried: Sequence[Tried]) -> dict[str, str]:
    """The default: what stands in braces in the command itself has to have a value, the first one."""
    inside = placeholders(request.command)
    return {one.knob.name: one.values[0] for one in tried if one.knob.name in inside}


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
    request: TuneRequest, found: Findings, place: Place, tried: Sequence[Tried], base: Settings
) -> dict[str, str] | None:
    """What somebody who knows the machine would set without a measurement; None: nothing."""
    open_to_us = {one.knob.name: one.values for one in tried}
    wanted: dict[str, str] = {}
    if "weighted_places" in open_to_us and not found.schedules.asks_environment:
        wanted = {"weighted_places": open_to_us["weighted_places"][0]}
    elif "OMP_NUM_THREADS" in open_to_us or "OMP_PLACES" in open_to_us:
        wanted = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
        if place.layout.has_smt:
            wanted["OMP_NUM_THREADS"] = str(len(place.one_a_core))
        if found.schedules.asks_environment and place.unequal:
            wanted["OMP_SCHEDULE"] = "dynamic,4"
    elif "mpi_ranks" in open_to_us:
        wanted = {"mpi_ranks": f"{place.usable}x1"}
    for blas in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
        if blas in open_to_us and found.has("libgomp", "libomp"):
            wanted[blas] = "1"
    if THREADS in open_to_us and str(len(place.one_a_core)) in open_to_us[THREADS]:
        wanted[THREADS] = str(len(place.one_a_core))
    known = {name: value for name, value in wanted.items() if value in open_to_us.get(name, ())}
    settings = {**base, **known, **request.fixed}
    if settings == dict(base) or invalid(settings) or _excluded(settings, request.excluded):
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

"""``--save`` and ``--against``: a command measured now, against the same one measured in an earlier sitting.

Drift between two sittings is in the interval as far as a bridge shows it, and without a bridge there is no
verdict: see `results.sittings`. Two commands in one comparison always tell more.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from tautochrone import verdicts
from tautochrone.comparing import sentences
from tautochrone.comparing.analysis import analyse, checked, objective_of
from tautochrone.comparing.result import CompareContext, Compared, Side
from tautochrone.errors import TautoError
from tautochrone.machine.record import machine_of
from tautochrone.results import context as contexts
from tautochrone.results.sittings import Sittings
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.verdicts import as_ratio

_FOLDER = Path("tautochrone-results")


def folder_of(name: str) -> Path:
    """Where a measurement is kept under a name. TautoError for a name that is none."""
    if not re.fullmatch(r"[\w][\w.-]{0,63}", name):
        raise TautoError(
            f"{name!r} is no name for a saved measurement", "Use letters, digits, dots and dashes"
        )
    return _FOLDER / f"saved-{name}"


def there(name: str) -> Path:
    """The folder of what was saved. TautoError where nothing was."""
    folder = folder_of(name)
    if not (folder / ROWS_FILE).exists():
        known = sorted(path.name.removeprefix("saved-") for path in _FOLDER.glob("saved-*"))
        raise TautoError(
            f"nothing was saved as {name!r} here",
            f"Saved: {', '.join(known)}" if known else f"--save {name} does",
        )
    return folder


def check(name: str, objective: str) -> None:
    """What can be refused before anything runs. TautoError for nothing saved, or another objective."""
    folder = there(name)
    context = contexts.load(CompareContext(folder=str(folder)), folder)
    if context.objective:  # empty where the first sitting was interrupted
        _check_objective(name, context.objective, objective)


def _check_objective(name: str, saved: str, asked: str) -> None:
    if saved != asked:
        raise TautoError(f"{name} was saved with --objective {saved}", "Ask for the same one now")


def against(name: str, now: Path) -> Compared:
    """The one command in the folder `now` against the one that was saved. TautoError without such a one."""
    from tautochrone.results.compare import notes_on_drift

    with Store.read(there(name)) as before, Store.read(now) as after:
        earlier, later = (_alone(store) for store in (before, after))
        objective = objective_of(later[1].objective)
        _check_objective(name, earlier[1].objective, later[1].objective)
        if before.machine.get("machine") != after.machine.get("machine"):
            raise TautoError(
                f"{name} was measured on another machine ({before.machine.get('machine')})",
                "A ratio would tell the machines apart. Measure both commands here",
            )
        new, old = ([row for row in store.rows() if row.error is None] for store in (after, before))
        is_time = later[1].objective == "time"
        comparison, drift, why = Sittings(after, before).compare(new, old, objective.figure, is_time=is_time)
    reference = msgspec.structs.replace(earlier[0], name=f"{earlier[0].name} (saved as {name})")
    rival = msgspec.structs.replace(later[0], name=f"{later[0].name} (now)", ratio=as_ratio(comparison))
    found = Compared(
        answer="",
        sides=(reference, rival),
        objective=later[1].objective,
        less=objective.less,
        rounds=comparison.rounds,
        looks=(comparison.rounds,),
        confidence=verdicts.VERDICT_CONFIDENCE,
        remarks=(*notes_on_drift(why, drift), *later[1].remarks),
        folder=str(now),
    )
    return sentences.answered(found, objective.written)


def _alone(store: Store) -> tuple[Side, CompareContext]:
    """The only command of a store. TautoError where it has several."""
    context = contexts.load(CompareContext(folder=str(store.folder)), store.folder)
    found = analyse(checked(store, context), context, machine_of(store))
    if len(found.sides) != 1:
        raise TautoError(
            f"{store.folder} has {len(found.sides)} commands; two sittings are compared by one",
            "Name one command: tauto compare --save NAME -- ./prog",
        )
    return found.sides[0], context

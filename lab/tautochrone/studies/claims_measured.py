"""What the studies that were measured on this machine say of the published claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError
from tautochrone.report.analysis import Claim
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.studies import STUDIES, study_named
from tautochrone.studies.claims import Verdict

RESULTS = Path("tautochrone-results")
_WORDS = {True: "it holds", False: "it does not hold"}


class Measured(msgspec.Struct, frozen=True):
    """A claim as a study's own rows decide it."""

    claim: Claim
    study: str
    folder: Path


def measured_here(say: Callable[[str], None]) -> dict[str, Measured]:
    """The same of the studies in the usual place; what cannot be read there is said and passed over."""
    found: dict[str, Measured] = {}
    for folder in (RESULTS / study for study in STUDIES):
        if not (folder / ROWS_FILE).exists():
            continue
        try:
            found |= measured_claims([folder])
        except TautoError as error:
            say(f"tauto: warning: {folder} is passed over: {error}")
    return found


def measured_claims(folders: Sequence[Path]) -> dict[str, Measured]:
    """What the studies in these folders decide, by claim; of several the last one's word.

    Raises TautoError for a folder without rows, or of a study that judges no claim.
    """
    found: dict[str, Measured] = {}
    for folder in folders:
        with Store.read(folder) as store:
            if store.study not in STUDIES:
                raise TautoError(
                    f"{folder} holds the study {store.study!r}, which judges no claim",
                    f"Name folders of these studies: {', '.join(STUDIES)}",
                )
            decided = [
                claim for claim in study_named(store.study).stored(store).claims if claim.holds is not None
            ]
            found |= {claim.id: Measured(claim, store.study, folder) for claim in decided}
    return found


def beside(verdicts: Sequence[Verdict], measured: dict[str, Measured]) -> list[Verdict]:
    """Verdicts with what was measured: it decides where no simulation can, and is in the note elsewhere."""
    return [
        _beside(verdict, measured[verdict.id]) if verdict.id in measured else verdict for verdict in verdicts
    ]


def _beside(simulated: Verdict, found: Measured) -> Verdict:
    claim = found.claim
    if simulated.holds is not None:
        words = f"measured here ({found.folder}): {claim.ours}; {_WORDS[bool(claim.holds)]}"
        return msgspec.structs.replace(simulated, note=_joined(simulated.note, words))
    return msgspec.structs.replace(
        simulated,
        ours=claim.ours,
        holds=claim.holds,
        source=f"measured here ({found.folder})",
        command=f"tauto study {found.study}",
        note=_joined(claim.note, f"{simulated.source}: {simulated.ours}"),
    )


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)

"""The power study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tautochrone.report.power.analysis_types import PowerAnalysis
from tautochrone.row import Row
from tautochrone.studies.disturbance import others_share
from tautochrone.studies.power.cells import collect, jobs_of, pair_of, report_job, report_setups
from tautochrone.studies.power.claims import claims
from tautochrone.studies.power.context import PowerContext
from tautochrone.studies.power.paste import settings_to_paste
from tautochrone.studies.power.policies import UnderPolicy
from tautochrone.studies.power.recommendations import recommendations
from tautochrone.studies.power.sentences import imbalance_advice, verdict_sentences, why_no_energy


def analyse(
    rows: Iterable[Row],
    machine: Mapping[str, Any],
    context: PowerContext,
    under: Sequence[UnderPolicy] = (),
) -> PowerAnalysis:
    """The analysis of the study's rows. ``machine`` is a record of tautochrone.machine/1.

    ``under``: the same study under each frequency policy, this one among them.
    """
    rows = list(rows)
    cells = collect(rows)
    pair = pair_of(cells)
    advised = recommendations(cells, context.knobs)
    no_energy = why_no_energy(rows)
    return PowerAnalysis(
        verdict_sentences=verdict_sentences(cells, advised, no_energy, others_share(rows, machine)),
        jobs=tuple(report_job(cell) for cell in jobs_of(cells)),
        setups=report_setups(pair) if pair is not None else (),
        pair=pair.title.removesuffix(" at once") if pair is not None else "",
        recommendations=advised,
        imbalance_advice=tuple(
            f"{cell.title}: {advice}" for cell in jobs_of(cells) if (advice := imbalance_advice(cell))
        ),
        no_energy=no_energy,
        settings_to_paste=settings_to_paste(cells),
        peers=context.peers,
        not_measured=context.not_measured,
        claims=claims(cells, advised, no_energy, context.knobs, under),
        commands=context.commands,
        advice=(*context.machine_advice, *context.notices),
        quick=context.quick,
    )

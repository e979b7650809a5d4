"""The map/reduce study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tautochrone.report.mapreduce.analysis_types import MapReduceAnalysis
from tautochrone.row import Row
from tautochrone.studies.disturbance import others_share
from tautochrone.studies.mapreduce.cells import collect, report_cell
from tautochrone.studies.mapreduce.claims import claims
from tautochrone.studies.mapreduce.context import MapReduceContext
from tautochrone.studies.mapreduce.paste import settings_to_paste
from tautochrone.studies.mapreduce.payoff import SHARE_THAT_PAYS, payoffs
from tautochrone.studies.mapreduce.sentences import verdict_sentences


def analyse(rows: Iterable[Row], machine: Mapping[str, Any], context: MapReduceContext) -> MapReduceAnalysis:
    """The analysis of the study's rows. Linear in the number of rows.

    ``machine`` is a record of tautochrone.machine/1: the speeds of its kinds of cores give the ideal.
    """
    rows = list(rows)
    cells = collect(rows, machine)
    reported = tuple(report_cell(cell, SHARE_THAT_PAYS) for cell in cells)
    found = payoffs(reported)
    return MapReduceAnalysis(
        verdict_sentences=verdict_sentences(cells, found, others_share(rows, machine)),
        cells=reported,
        payoffs=found,
        share_that_pays=SHARE_THAT_PAYS,
        traces=context.traces,
        settings_to_paste=settings_to_paste(cells),
        peers=context.peers,
        not_measured=context.not_measured,
        claims=claims(cells),
        commands=context.commands,
        advice=(*context.machine_advice, *context.notices),
        quick=context.quick,
    )

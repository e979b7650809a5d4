"""Which configurations come into the final: all that must, and of the others those that screened fastest."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from tautochrone.configuration import Configuration
from tautochrone.row import Row
from tautochrone.studies.loop.configurations import Candidate

OVERALL = 2  # the fastest of all contenders, whoever they belong to
_OURS = "tautochrone"

Entry = tuple[Candidate, Configuration]


def screened_at_all(candidate: Candidate) -> bool:
    """Those whose place is not given; and the serial loop, whose answer the others must give."""
    return not candidate.always_measured or candidate.peer == "serial"


def finalists(entries: Sequence[Entry], screened: Iterable[Row]) -> list[Configuration]:
    """What is measured in the rounds that are reported, of one cell, in the order given.

    Always: references, defaults and ours. Of the others each peer's fastest, and the ``OVERALL`` fastest of
    all. What failed in the screening has no time and stays out; its error rows say why.
    """
    seconds: dict[str, list[float]] = {}
    for row in screened:
        if row["error"] is None:
            seconds.setdefault(row["config_id"], []).append(float(row["seconds"]))
    contenders = [
        (statistics.median(seconds[one.config_id]), candidate.peer, one.config_id)
        for candidate, one in entries
        if not candidate.always_measured and candidate.peer != _OURS and one.config_id in seconds
    ]
    contenders.sort()
    chosen = {config_id for _, _, config_id in contenders[:OVERALL]}
    best_of_peer: dict[str, str] = {}
    for _, peer, config_id in contenders:
        best_of_peer.setdefault(peer, config_id)
    chosen |= set(best_of_peer.values())
    return [one for candidate, one in entries if candidate.always_measured or one.config_id in chosen]

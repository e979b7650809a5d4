"""Which configurations come into the final: all that must, and of the others those that screened fastest."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from tautochrone.row import Row
from tautochrone.studies.loop.configurations import Candidate

OVERALL = 2  # the fastest of all contenders, whoever they belong to
_OURS = "tautochrone"


def finalists(
    candidates: Sequence[Candidate], config_ids: Mapping[Candidate, str], screened: Iterable[Row]
) -> list[Candidate]:
    """Candidates of one cell for the rounds that are reported, in the order given.

    Always: references, defaults and ours. Of the others each peer's fastest, and the ``OVERALL`` fastest of
    all. What failed in the screening has no time and stays out; its error rows say why.
    """
    seconds: dict[str, list[float]] = {}
    for row in screened:
        if row["error"] is None:
            seconds.setdefault(row["config_id"], []).append(float(row["seconds"]))
    median = {config_id: statistics.median(times) for config_id, times in seconds.items()}
    contenders = [
        one
        for one in candidates
        if not one.always_measured and one.peer != _OURS and config_ids[one] in median
    ]
    contenders.sort(key=lambda one: median[config_ids[one]])
    chosen = set(contenders[:OVERALL])
    for peer in {one.peer for one in contenders}:
        chosen.add(next(one for one in contenders if one.peer == peer))
    return [one for one in candidates if one.always_measured or one in chosen]

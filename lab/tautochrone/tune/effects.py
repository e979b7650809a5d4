"""Which knobs matter: main effects, fitted to the logarithms of all candidates' medians by least squares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tautochrone.report.tune.analysis_types import Effect

_RESOLVED = 2.0  # standard errors
_TOLD = 1 - 1e-6  # of its own coefficient in the one that is fitted: below 1 others have a part in it


def main_effects(candidates: Sequence[tuple[Mapping[str, str], float]]) -> tuple[Effect, ...]:
    """The factor of each value of each knob against leaving it as it is; largest first.

    `candidates` are (what they change, median figure). A description of the whole space, not a verdict on any
    one candidate: knobs that work together show as the mean of what they do. Empty for too few candidates.
    What the candidates cannot tell, such as the effect of a knob that all of them set, is left out.
    """
    levels = list(
        dict.fromkeys((knob, value) for settings, _ in candidates for knob, value in settings.items())
    )
    if len(candidates) <= len(levels) + 1 or not levels:
        return ()
    columns = np.array(
        [
            [1.0, *(1.0 if settings.get(knob) == value else 0.0 for knob, value in levels)]
            for settings, _ in candidates
        ]
    )
    logs = np.log([figure for _, figure in candidates])
    solution, _, rank, _ = np.linalg.lstsq(columns, logs, rcond=None)
    residual = logs - columns @ solution
    freedom = len(candidates) - int(rank)
    if freedom < 1:
        return ()
    variance = float(residual @ residual) / freedom
    inverse = np.linalg.pinv(columns)
    told = np.diag(inverse @ columns) > _TOLD
    spread = np.sqrt(np.sum(inverse**2, axis=1) * variance)
    found = [
        Effect(
            knob=knob,
            value=value,
            factor=math.exp(float(solution[index + 1])),
            error=float(spread[index + 1]),
            resolved=abs(float(solution[index + 1])) > _RESOLVED * float(spread[index + 1]),
        )
        for index, (knob, value) in enumerate(levels)
        if told[index + 1]
    ]
    return tuple(sorted(found, key=lambda one: -abs(math.log(one.factor))))

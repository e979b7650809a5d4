"""What each value of each knob does on the whole: main effects, by least squares on logarithms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tautochrone.tune.answer import Effect

_RESOLVED = 2.0  # in standard errors

Matrix = list[list[Fraction]]


def main_effects(candidates: Sequence[tuple[Mapping[str, str], float]]) -> tuple[Effect, ...]:
    """The factor of each value of each knob against leaving it as it is; largest first.

    `candidates` are (what they change, median figure). The factors describe the whole space, not any one
    candidate: of knobs that work together they show the mean effect. Empty for too few candidates. Effects
    that the candidates cannot identify are left out, such as the effect of a knob that all of them set.
    """
    levels = list(
        dict.fromkeys((knob, value) for settings, _ in candidates for knob, value in settings.items())
    )
    if len(candidates) <= len(levels) + 1 or not levels:
        return ()
    design = [
        [Fraction(1), *(Fraction(settings.get(knob) == value) for knob, value in levels)]
        for settings, _ in candidates
    ]
    rows, basis = _reduced(design)
    freedom = len(candidates) - len(basis)
    if freedom < 1:
        return ()
    coefficients, errors = _least_squares(
        [[row[column] for column in basis] for row in design],
        [math.log(figure) for _, figure in candidates],
        freedom,
    )
    # Of a coefficient whose row has others beside it, only a sum with them is known.
    identified = [sum(1 for one in row if one) == 1 for row in rows]
    effects = [
        Effect(
            knob=levels[column - 1][0],
            value=levels[column - 1][1],
            factor=math.exp(coefficient),
            error=error,
            resolved=abs(coefficient) > _RESOLVED * error,
        )
        for column, known, coefficient, error in zip(basis, identified, coefficients, errors, strict=True)
        if column > 0 and known
    ]
    return tuple(sorted(effects, key=lambda effect: -abs(math.log(effect.factor))))


def _reduced(matrix: Matrix) -> tuple[Matrix, list[int]]:
    """The reduced row echelon form without its rows of zeros, and the column in which each row begins."""
    rows = [[*row] for row in matrix]
    begins: list[int] = []
    for column in range(len(matrix[0])):
        top = len(begins)
        found = next((index for index in range(top, len(rows)) if rows[index][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        first = rows[top][column]
        rows[top] = [value / first for value in rows[top]]
        for index, row in enumerate(rows):
            if index != top and row[column]:
                times = row[column]
                rows[index] = [value - times * above for value, above in zip(row, rows[top], strict=True)]
        begins.append(column)
    return rows[: len(begins)], begins


def _least_squares(design: Matrix, values: Sequence[float], freedom: int) -> tuple[list[float], list[float]]:
    """The coefficients of independent columns, and their standard errors."""
    columns = list(zip(*design, strict=True))
    size = len(columns)
    normal = [
        [sum((a * b for a, b in zip(one, other, strict=True)), Fraction()) for other in columns]
        + [Fraction(row == column) for column in range(size)]
        for row, one in enumerate(columns)
    ]
    inverse = [[float(value) for value in row[size:]] for row in _reduced(normal)[0]]
    sums = [_product(column, values) for column in columns]
    coefficients = [_product(row, sums) for row in inverse]
    residuals = [value - _product(row, coefficients) for row, value in zip(design, values, strict=True)]
    variance = math.fsum(residual * residual for residual in residuals) / freedom
    return coefficients, [math.sqrt(max(inverse[at][at], 0.0) * variance) for at in range(size)]


def _product(left: Sequence[Fraction | float], right: Sequence[float]) -> float:
    return math.fsum(float(a) * b for a, b in zip(left, right, strict=True))

"""The states of the machine that a study measures in: as it is, and with some CPUs made slower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from tautochrone.errors import TautoError
from tautochrone.executor import Executor
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.studies.options import Emulation, StudyRequest, emulation_text
from tautochrone.studies.services import Services
from tautochrone.studies.slowdowns import Slowdown, StateExecutor, state_key


def open_states(
    stack: ExitStack, inner: Executor, request: StudyRequest, services: Services
) -> tuple[StateExecutor, Sequence[Emulation], Sequence[NotMeasured]]:
    """Calibrate all slowdowns that were asked for; they end with ``stack``.

    Returns the executor that switches between them, the emulations that work, and what could not be had.
    Raises TautoError for one that cannot be had, unless the request takes it only if possible.
    """
    slowdowns: dict[str, Slowdown] = {}
    working: list[Emulation] = []
    refused: list[NotMeasured] = []
    for emulation in request.emulations:
        if not emulation:
            continue
        try:
            slowdown = stack.enter_context(services.slowdown(emulation))
        except TautoError as error:
            if not request.emulate_if_possible:
                raise
            refused.append(_refusal(emulation, error))
            services.say(f"tauto: warning: measured without {emulation_text(emulation)}: {error}")
            continue
        slowdown.pause()  # the next one is calibrated on the machine as it is
        slowdowns[state_key(_as_text(emulation))] = slowdown
        working.append(emulation)
    return StateExecutor(inner, slowdowns), working, refused


def _as_text(emulation: Emulation) -> Mapping[str, float]:
    return {str(cpu): factor for cpu, factor in emulation.items()}


def _refusal(emulation: Emulation, error: TautoError) -> NotMeasured:
    return NotMeasured(
        what=f"emulated unequal cores ({emulation_text(emulation)})", why=error.message, remedy=error.remedy
    )

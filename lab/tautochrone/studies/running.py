"""What every study does with its plan: measure it with progress, and keep what the reader should know."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tautochrone import measure
from tautochrone.executor import Executor, MetersIdle
from tautochrone.plan import Plan
from tautochrone.report import text
from tautochrone.row import Row
from tautochrone.session import CheckRows
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.context import StudyContext
from tautochrone.studies.options import StudyRequest
from tautochrone.studies.services import Services

IDLE_DRIFT_NOTICED = 0.1
"""From this share of the largest on the spread of idle power before, between and after the runs is said."""


def run_part(
    plan: Plan,
    title: str,
    store: Store,
    executor: Executor,
    services: Services,
    context: StudyContext,
    check: CheckRows,
    before_round: Callable[[], None] | None = None,
) -> bool:
    """Run what the store lacks of a plan; notices go to the context. True when it was interrupted."""
    progress = services.progress(title)
    outcome = measure.run_plan(
        plan, store, executor, services.clock, progress, check_rows=check, before_round=before_round
    )
    said = list(outcome.notices)
    if isinstance(executor, MetersIdle):
        stretches = executor.idle_stretches(after_runs=not outcome.interrupted)
        context.idle_watts = (*context.idle_watts, *stretches)
        if outcome.interrupted and stretches:
            said.append("the study was interrupted: idle power after its last run was not measured")
        said += idle_notices(context.idle_watts)
    context.notices = tuple(dict.fromkeys((*context.notices, *said)))
    return outcome.interrupted


def idle_notices(watts: Sequence[float]) -> list[str]:
    """What to know of idle power that did not stay the same from before the runs until after them."""
    if not watts or max(watts) - min(watts) <= IDLE_DRIFT_NOTICED * max(watts):
        return []
    low, high = text.quantity(min(watts), "W"), text.quantity(max(watts), "W")
    return [f"the machine drew {low} to {high} when nothing ran: energy without idle power is that uncertain"]


def run_whole(
    plan: Plan,
    executor: Executor,
    request: StudyRequest,
    services: Services,
    context: StudyContext,
    announced: str,
    check: CheckRows,
) -> tuple[Store, bool]:
    """Measure a study of one part into its folder. The closed store, and True when it was interrupted.

    What the reader should know is saved before the first run and after the last one.
    """
    with Store.open(
        request.output, plan.study, plan.plan_id, plan.machine, request.fresh, services.clock
    ) as store:
        services.say(announced)
        contexts.begin(context, store)
        interrupted = run_part(plan, "measuring", store, executor, services, context, check)
        contexts.save(context, request.output)
    return store, interrupted


def is_serial(row: Row) -> bool:
    """True for the rows whose answer is the reference."""
    return bool(row["config"]["runtime"] == "serial")

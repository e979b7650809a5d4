"""What every study does with its plan: measure it with progress, and keep what the reader should know."""

from __future__ import annotations

from tautochrone import measure
from tautochrone.executor import Executor
from tautochrone.plan import Plan
from tautochrone.row import Row
from tautochrone.session import CheckRows
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.context import StudyContext
from tautochrone.studies.options import StudyRequest
from tautochrone.studies.services import Services


def run_part(
    plan: Plan,
    title: str,
    store: Store,
    executor: Executor,
    services: Services,
    context: StudyContext,
    check: CheckRows,
) -> bool:
    """Run what the store lacks of a plan; notices go to the context. True when it was interrupted."""
    progress = services.progress(title)
    outcome = measure.run_plan(plan, store, executor, services.clock, progress, check_rows=check)
    context.notices = tuple(dict.fromkeys((*context.notices, *outcome.notices)))
    return outcome.interrupted


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
        contexts.save(context, request.output)
        interrupted = run_part(plan, "measuring", store, executor, services, context, check)
        contexts.save(context, request.output)
    return store, interrupted


def is_serial(row: Row) -> bool:
    """True for the rows whose answer is the reference."""
    return bool(row["config"]["runtime"] == "serial")

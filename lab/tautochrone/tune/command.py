"""``tauto tune``: what it is asked for, and what it runs."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.tune.knobs import explain
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.tuning import run_tune


@dataclass(frozen=True, kw_only=True)
class TuneCommand(TuneRequest):
    """Find the best settings for a program as it is: threads, places, schedules, binding, waiting.

    Finds what the program links, tries what can matter, and answers in words: what to set and how much it
    gains, or to leave it as it is. Nothing is compiled, and no setting of the system is changed.

    \b
    Examples:
      tauto tune -- ./solver case.in
      tauto tune --budget 20m --objective memory -- ./solver case.in
      tauto tune --threads 1..16 -- xz -k -c -T{threads} file
      tauto tune --env MALLOC_ARENA_MAX=1,2 --fix OMP_PROC_BIND=close -- ./solver case.in
      tauto tune --objective 'regex-max:Performance: +([0-9.]+)' -- gmx mdrun -s case.tpr
      tauto tune --explain OMP_PLACES
    """  # noqa: D301

    def run(self) -> int:
        """Search and answer, or explain a knob; 0."""
        if self.explain is not None:
            print(explain(self.explain))
        else:
            run_tune(self)
        return 0

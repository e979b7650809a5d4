"""Every schema: its type, and who writes or reads it."""

from __future__ import annotations

from typing import get_type_hints

import msgspec

from tautochrone.comparing.answer import CompareAnalysis
from tautochrone.comparing.bisected import Bisected
from tautochrone.comparing.result import CompareContext, Compared
from tautochrone.energy.command import EnergyRecord
from tautochrone.energy.estimate import Model
from tautochrone.inspection.findings import Findings
from tautochrone.machine.record import Machine
from tautochrone.report.analysis import Analysis
from tautochrone.results.compare import ComparisonRecord
from tautochrone.results.listing import Listing
from tautochrone.results.row import Energy, Row
from tautochrone.schemas import of_executables
from tautochrone.simulator.findings import SimulatedAnalysis
from tautochrone.studies import STUDIES, study_named
from tautochrone.studies.against_matching import Agreement
from tautochrone.studies.claims import ClaimsRecord
from tautochrone.studies.sharing import Shared
from tautochrone.trace.command import TraceRecord
from tautochrone.tune.answer import TuneAnalysis, TuneContext
from tautochrone.tune.applying import Profile


class Schema(msgspec.Struct, frozen=True):
    """A schema. ``type`` is a structure or a dataclass."""

    name: str
    type: type
    who: str


def of_analysis(analysis: type[Analysis]) -> str:
    """The schema that msgspec writes as its tag."""
    return str(analysis.__struct_config__.tag)


def analysis_of(study: str) -> type[Analysis]:
    """What a study's ``analyse`` returns."""
    found: type[Analysis] = get_type_hints(study_named(study).analyse)["return"]
    return found


def schemas() -> tuple[Schema, ...]:
    """All, those of commands first. Imports every study."""
    return (
        Schema(
            "tautochrone.machine/1", Machine, "`tauto machine --json`, and the second line of `rows.jsonl`"
        ),
        Schema("tautochrone.inspection/1", Findings, "`tauto inspect --json`"),
        Schema(of_analysis(TuneAnalysis), TuneAnalysis, "`tauto tune --json`"),
        Schema("tautochrone.tune/1", TuneContext, "`study.json` of a search"),
        Schema("tautochrone.profile/1", Profile, "`profile.json` of a search; `tauto run` reads it"),
        Schema("tautochrone.compared/1", Compared, "`tauto compare --json` of commands"),
        Schema("tautochrone.comparison/1", ComparisonRecord, "`tauto compare --json` of stored results"),
        Schema("tautochrone.bisected/1", Bisected, "`tauto compare --json` that looks for a commit"),
        Schema("tautochrone.compare-context/1", CompareContext, "`study.json` of a comparison of commands"),
        Schema("tautochrone.energy/1", EnergyRecord, "`tauto energy --json`"),
        Schema("tautochrone.energy_model/1", Model, "`tauto energy --fit-model`; `--estimate` reads it"),
        Schema("tautochrone.trace/1", TraceRecord, "`tauto trace --json`"),
        Schema("tautochrone.balance/1", of_executables.Balance, "`tauto balance --json`"),
        Schema("tautochrone.emulation/1", of_executables.Emulation, "`tauto exec emulate -- --json`"),
        Schema("tautochrone.list/1", Listing, "`tauto list --json`"),
        Schema("tautochrone.claims/1", ClaimsRecord, "`tauto claims --json`"),
        Schema("tautochrone.against/1", Agreement, "`tauto simulate STUDY --against FOLDER --json`"),
        *(
            Schema(of_analysis(found), found, f"`tauto study {name} --json`")
            for name in STUDIES
            for found in [analysis_of(name)]
        ),
        *(
            Schema(f"tautochrone.{name}/1", study_named(name).CONTEXT, f"`study.json` of the study {name}")
            for name in STUDIES
        ),
        Schema(
            "tautochrone.shared/1", Shared, "`tauto share`, packed with gzip; `tauto claims --with` reads it"
        ),
        Schema("tautochrone.store/1", of_executables.StoreHead, "the first line of `rows.jsonl`"),
        Schema("tautochrone.row/1", Row, "a run in `rows.jsonl`; a line of `tauto simulate --json`"),
        Schema("tautochrone.runner/1", of_executables.RunnerDescription, "a runner's `--describe`"),
        Schema("tautochrone.frames/1", of_executables.Frames, "`tauto exec nbody-frames`"),
    )


KEPT_AS_WRITTEN: tuple[type, ...] = (Energy,)
"""What fields hold that are typed as an object: files keep what was written, and readers what they know."""

ON_PAGES_ALONE: tuple[type, ...] = (CompareAnalysis, SimulatedAnalysis)
"""Types with a tag that no command prints and no file keeps."""

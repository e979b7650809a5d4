"""Puts the page together: one HTML file with its data, styles and scripts inside."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2
import markupsafe
import msgspec
import vl_convert

from tautochrone.report import energy as energy_part
from tautochrone.report import machine_view, tables, text
from tautochrone.report.analysis_types import Analysis
from tautochrone.report.collective import page as collective_page
from tautochrone.report.collective.analysis_types import CollectiveAnalysis
from tautochrone.report.loop import page as loop_page
from tautochrone.report.loop.analysis_types import LoopAnalysis
from tautochrone.report.mapreduce import page as mapreduce_page
from tautochrone.report.mapreduce.analysis_types import MapReduceAnalysis
from tautochrone.report.nbody import page as nbody_page
from tautochrone.report.nbody.analysis_types import NbodyAnalysis
from tautochrone.report.palette import RuntimeStyle, runtime_key, styles
from tautochrone.report.parts import Parts
from tautochrone.report.power import page as power_page
from tautochrone.report.power.analysis_types import PowerAnalysis
from tautochrone.report.simulated import page as simulated_page
from tautochrone.report.simulated.analysis_types import SimulatedAnalysis
from tautochrone.report.tune import page as tune_page
from tautochrone.report.tune.analysis_types import TuneAnalysis
from tautochrone.row import SCREENING

_VERDICT_SIGNS = {"faster": "▲", "slower": "▼", "no difference resolved": "", "not measured": "–"}


class Failure(msgspec.Struct, frozen=True):
    """Runs that ended in the same error."""

    configuration: str
    kind: str
    message: str
    runs: int


def render(
    rows: Sequence[Mapping[str, Any]], machine: Mapping[str, Any], analysis: Analysis, study: str
) -> str:
    """The whole page as HTML. `rows` are the study's rows, used for what was run and what failed."""
    parts = _parts(analysis)
    energy = energy_part.build(rows)
    look = styles(parts.runtimes)
    situations = [text.situation(emulated) for emulated in parts.situations]
    embedded = {
        "tables": {name: tables.columns(table) for name, table in {**parts.tables, **energy.tables}.items()},
        "charts": {**parts.charts, **energy.charts},
        "configurations": tables.columns(parts.configurations),
        "columns": parts.columns,
        "filters": [one.name for one in parts.filters],
        "situations": situations,
        "names": {style.key: style.name for style in look},
        "variables": {style.key: style.variable for style in look},
    }
    return (
        _environment()
        .get_template(parts.template)
        .render(
            analysis=analysis,
            study=study,
            title=_title(machine, study),
            machine=machine_view.build(machine, parts.situations),
            figures=[*parts.figures, *energy.figures],
            energy_sentence=energy.sentence,
            filters=parts.filters,
            measured=_measured(rows),
            failures=_failures(rows),
            styles=look,
            data=_script_json(embedded),
            vega=_vega(),
            css=_asset("report.css"),
            javascript=_asset("report.js"),
            **parts.more,
        )
    )


def _parts(analysis: Analysis) -> Parts:
    """What only this study's page has."""
    if isinstance(analysis, LoopAnalysis):
        return loop_page.parts(analysis)
    if isinstance(analysis, MapReduceAnalysis):
        return mapreduce_page.parts(analysis)
    if isinstance(analysis, CollectiveAnalysis):
        return collective_page.parts(analysis)
    if isinstance(analysis, NbodyAnalysis):
        return nbody_page.parts(analysis)
    if isinstance(analysis, PowerAnalysis):
        return power_page.parts(analysis)
    if isinstance(analysis, SimulatedAnalysis):
        return simulated_page.parts(analysis)
    if isinstance(analysis, TuneAnalysis):
        return tune_page.parts(analysis)
    raise TypeError(f"there is no page for a {type(analysis).__name__}")


def _title(machine: Mapping[str, Any], study: str) -> str:
    name = machine.get("name") or machine.get("cpu_model")
    return f"tautochrone: study {study}" + (f" on {name}" if name else "")


def _measured(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many runs, rounds and configurations there were, over what time."""
    started = sorted(str(row["started"]) for row in rows if row.get("started"))
    return {
        "runs": len(rows),
        "failed": sum(1 for row in rows if row.get("error")),
        "configurations": len({row.get("config_id") for row in rows}),
        "rounds": len({row.get("round") for row in rows if row.get("source") != SCREENING}),
        "screened": sum(1 for row in rows if row.get("source") == SCREENING),
        "when": _period(started[0], started[-1]) if started else "",
        "seconds": sum(float(row.get("elapsed_seconds") or 0) for row in rows),
    }


def _period(begin: str, end: str) -> str:
    """Two ISO 8601 times as people write them: "2026-01-05, 10:00 to 10:09 UTC"."""
    first_day, last_day = begin[:10], end[:10]
    return (
        f"{first_day}, {begin[11:16]} to {'' if first_day == last_day else last_day + ', '}{end[11:16]} UTC"
    )


def _failures(rows: Sequence[Mapping[str, Any]]) -> list[Failure]:
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if row.get("error"):
            error = row["error"]
            counted[(row_label(row), str(error.get("kind", "failed")), str(error.get("message", "")))] += 1
    return [Failure(*key, runs=number) for key, number in counted.most_common()]


def row_label(row: Mapping[str, Any]) -> str:
    """A row's configuration for people, with its size and what was slowed."""
    config = row.get("config") or {}
    if row.get("name"):
        return str(row["name"])
    chunk = f", chunk {config['chunk']}" if config.get("chunk") else ""
    slowed = "".join(
        f", CPU {cpu} {factor:g}× slower" for cpu, factor in (config.get("emulated") or {}).items()
    )
    name = f"{config.get('library') or config.get('runtime', 'unknown')} {config.get('schedule', '')}{chunk}"
    return f"{name}, {config.get('placement', 'all')} cores, n = {config.get('size', '?')}{slowed}"


def _script_json(value: object) -> str:
    """JSON that cannot end the script element that holds it, whatever a runtime is called."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return encoded.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@functools.cache
def _vega() -> str:
    """Vega, Vega-Lite and their embedder, once for all charts, as gzip in base64; they come with vl-convert.

    Packed they are 0.4 MB instead of 0.9 MB; the browser unpacks them itself in a few hundredths of a second.
    """
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;")
    # mtime=0: the same rows give the same file
    return base64.b64encode(gzip.compress(bundle.encode(), 9, mtime=0)).decode()


def _asset(name: str) -> str:
    return (resources.files("tautochrone.report") / "templates" / name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tautochrone.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "seconds": text.seconds,
        "interval": text.seconds_interval,
        "ratio": text.ratio,
        "ratio_parts": text.ratio_parts,
        "sentence": text.sentence,
        "percent": text.percent,
        "cores": text.cores,
        "cpus": text.cpu_list,
        "runtime": _runtime_style,
        "sign": lambda verdict: _VERDICT_SIGNS.get(verdict, ""),
        "slug": lambda verdict: str(verdict).replace(" ", "-"),
        "json": json.dumps,
        "subscripts": _subscripts,
    }
    return environment


def _subscripts(words: str) -> markupsafe.Markup:
    """T_seq with its subscript set low; everything else stays escaped text."""
    return markupsafe.Markup(
        re.sub(r"\b([A-Z])_([A-Za-z]+)", r"<var>\1</var><sub>\2</sub>", str(markupsafe.escape(words)))
    )


def _runtime_style(runtime: str, known: Sequence[RuntimeStyle]) -> RuntimeStyle | None:
    return next((style for style in known if style.key == runtime_key(runtime)), None)

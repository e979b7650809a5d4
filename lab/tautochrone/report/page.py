"""Puts the page together: one HTML file with its data, styles and scripts inside."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2
import markupsafe

from tautochrone import text
from tautochrone.options import format_cpus
from tautochrone.report import charts, first_screen, machine_view, measured
from tautochrone.report import energy as energy_part
from tautochrone.report.analysis import Analysis
from tautochrone.report.palette import RuntimeStyle, runtime_key, styles
from tautochrone.results.row import Row
from tautochrone.results.states import state_title

_VERDICT_SIGNS = {"faster": "▲", "slower": "▼", "no difference resolved": "", "not measured": "–"}


def render(rows: Sequence[Row], machine: Mapping[str, Any], analysis: Analysis, study: str) -> str:
    """The whole page as HTML. `rows` are the study's rows, used for what was run and what failed."""
    parts = analysis.parts()
    energy = energy_part.build(rows)
    look = styles(parts.runtimes)
    name = machine.get("name") or machine.get("cpu_model")
    situations = [state_title(emulated) for emulated in parts.situations]
    view, counts = machine_view.build(machine, parts.situations), measured.counted(rows)
    embedded = {
        "tables": {name: charts.columns(table) for name, table in {**parts.tables, **energy.tables}.items()},
        "charts": {**parts.charts, **energy.charts},
        "configurations": charts.columns(parts.configurations),
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
            title=f"tautochrone: study {study}" + (f" on {name}" if name else ""),
            machine=view,
            first=first_screen.shown(
                analysis,
                first_screen.kicker(analysis, study),
                measured.in_words(counts, view),
                view.emulated or "",
            ),
            figures=[*parts.figures, *energy.figures],
            energy_sentence=energy.sentence,
            filters=parts.filters,
            measured=counts,
            failures=_failures(rows),
            styles=look,
            data=_script_json(embedded),
            vega=_vega(),
            css=_asset("report.css"),
            javascript=_asset("report.js"),
            **parts.more,
        )
    )


def _failures(rows: Sequence[Row]) -> list[tuple[tuple[str, str, str], int]]:
    """Configuration, kind and message of an error, and how many runs ended in it."""
    return Counter(
        (row_label(row), row.error.kind, row.error.message) for row in rows if row.error
    ).most_common()


def row_label(row: Row) -> str:
    """A row's configuration for people, with its size and what was slowed."""
    if row.name:
        return row.name
    config = row.config
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
    """Vega, Vega-Lite and their embedder, once for all charts: the package's file (gzip) in base64.

    Packed they are 0.4 MB instead of 0.9 MB; the browser unpacks them itself in a few hundredths of a second.
    """
    packed = resources.files("tautochrone.report") / "vega" / "vega.js.gz"
    return base64.b64encode(packed.read_bytes()).decode()


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
        "cpus": format_cpus,
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

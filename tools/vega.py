"""Write Vega, Vega-Lite and their embedder as one packed script into the package: `make vega`.

vl-convert has them, and an engine of 84 MB. So it is asked here, and not where a report is written.
"""

import gzip
from pathlib import Path

import vl_convert

BUNDLE = Path(__file__).resolve().parents[1] / "lab/tautochrone/report/vega/vega.js.gz"


def packed() -> bytes:
    """The same bytes from the same vl-convert."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;")
    return gzip.compress(script.encode(), 9, mtime=0)


if __name__ == "__main__":
    BUNDLE.write_bytes(packed())
    print(f"{BUNDLE.name}: {BUNDLE.stat().st_size} bytes, Vega {vl_convert.get_vega_version()}")

"""What was measured, kept: rows, journal, store, exports, comparisons."""

from pathlib import Path

USUAL_FOLDER = Path("tautochrone-results")
"""Where results go that nobody gave another place, a folder each."""

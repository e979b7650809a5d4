"""What was measured, kept: rows, journal, store, exports, comparisons."""

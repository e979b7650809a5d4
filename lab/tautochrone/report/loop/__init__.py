"""The report of the loop study."""

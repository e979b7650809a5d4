"""The report of the collective study."""

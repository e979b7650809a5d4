"""The report of the power study."""

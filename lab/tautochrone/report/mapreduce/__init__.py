"""The report of the map/reduce study."""

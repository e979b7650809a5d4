"""The map/reduce study: how short tasks may be before sharing them out costs more than it gains."""

"""Joules: the meters of a machine, probed before they are believed, and what is made of their readings.

Where no meter can be believed there is a reason and a remedy, and the joules are None; they are never 0.
"""

from __future__ import annotations

"""The frequency policy: what decides the clocks of the cores. Always read; changed only on request."""

from __future__ import annotations

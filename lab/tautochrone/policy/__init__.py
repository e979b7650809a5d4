"""The frequency policy: what decides how fast the cores are clocked. Read always; changed only when asked."""

from __future__ import annotations

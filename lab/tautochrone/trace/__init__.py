"""What the threads of any program do over time: who works, who waits, on which CPU."""

from __future__ import annotations

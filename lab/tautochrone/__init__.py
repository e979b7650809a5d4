"""tautochrone's lab: measures, compares and explains parallel programs on cores of unequal speed.

The lab starts processes and reads their rows; it never links the runtime. The command is ``tauto``
(:mod:`tautochrone.cli.main`), and every study, comparison and report is also callable from Python:
``from tautochrone import compare``. Apart from it, :mod:`tautochrone.parallel` has the runtime's calls for
NumPy arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tautochrone.comparing.library import compare

__version__ = "0.1.0"
__all__ = ["__version__", "compare"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: the command line should not wait for it."""
    if name != "compare":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tautochrone.comparing.library import compare

    globals()["compare"] = compare
    return compare

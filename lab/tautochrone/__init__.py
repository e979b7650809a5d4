"""tautochrone's lab: measures, compares and explains parallel programs on cores of unequal speed.

The lab starts processes and reads their rows; it never links the runtime. The command is ``tauto``
(:mod:`tautochrone.cli.main`), and every study, comparison and report is also callable from Python.
"""

__version__ = "0.1.0"

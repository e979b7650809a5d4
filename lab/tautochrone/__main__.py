"""``python -m tautochrone`` is the same as ``tauto``."""

from tautochrone.cli import main

if __name__ == "__main__":
    raise SystemExit(main())

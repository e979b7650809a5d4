"""``python -m tautochrone`` is the same as ``tauto``."""

from tautochrone.start import main

if __name__ == "__main__":
    raise SystemExit(main())

"""Where the laboratory begins: ``python -m tautochrone``, and ``tauto`` for all that it does not do itself.

``tauto`` is a small executable, which applies profiles: what ``tauto run`` starts should not wait for Python.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``tauto``; see :func:`tautochrone.cli.main.main` for the exit codes."""
    words = sys.argv[1:]
    if words[:1] == ["run"] and len(words) > 1 and not words[1].startswith("-"):
        from tautochrone.cli.native_command import run

        return run(words[1:])
    from tautochrone.cli.limits import supervised
    from tautochrone.cli.main import main as command_line

    return supervised(command_line)


if __name__ == "__main__":
    raise SystemExit(main())

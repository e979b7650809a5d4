"""Where ``tauto`` begins. ``tauto run`` goes its own short way: what it starts should not wait.

Typer and what it brings take longer to load than everything that ``tauto run`` does.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``tauto``; see :func:`tautochrone.cli.main` for the exit codes."""
    words = sys.argv[1:]
    if words[:1] == ["run"] and len(words) > 1 and not words[1].startswith("-"):
        from tautochrone.run_profile import run_words

        return run_words(words[1:])
    from tautochrone.cli import main as command_line

    return command_line()


if __name__ == "__main__":
    raise SystemExit(main())

"""Draw what a command prints as SVG, for the README:   recording.py FILE LINES COMMAND...

The command is run here and now. The first LINES lines are drawn; behind them paths of this machine may stand.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 84


def main(file: str, lines: str, *command: str) -> None:
    """Run it, and write the picture."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(Text(f"$ {shlex.join(command)}", style="bold"))
        for line in done.stdout.splitlines()[: int(lines)]:
            console.print(Text.from_ansi(line))
        drawn = console.export_svg(title=command[0], unique_id="tauto")
    # No font of another place: a page of ours asks nobody for anything.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    Path(file).write_text(re.sub(r"<!--.*?-->\s*", "", drawn, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

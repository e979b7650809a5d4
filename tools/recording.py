"""Draw what a command prints as SVG, for the README:   recording.py FILE TITLE COMMAND...

The command is run here and now; standard output and standard error are drawn in the order in which they came.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 84


def main(file: str, title: str, *command: str) -> None:
    """Run it, and write the picture."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(Text(f"$ {shlex.join(command)}", style="bold"))
        for line in done.stdout.splitlines():
            console.print(Text.from_ansi(line), soft_wrap=False)
        drawn = console.export_svg(title=title, unique_id="tauto")
    # No font of another place: a page of ours asks nobody for anything.
    Path(file).write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

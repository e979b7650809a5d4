"""What the build of ``tauto`` needs of the table: ``python made.py VERSION FOLDER``, with no package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(version: str, folder: Path) -> None:
    """Texts for the executable, manual pages, completions."""
    import completion  # type: ignore[import-not-found]
    import rendering  # type: ignore[import-not-found]

    table = json.loads((HERE / "table.json").read_text(encoding="utf-8"))
    help = (HERE / "help.txt").read_text(encoding="utf-8")
    texts = {f"completion {shell}": completion.script(shell, table) for shell in completion.SHELLS}
    for width in (rendering.WIDE, rendering.NARROW):
        texts[f" {width}"] = rendering.main_help(help, width)
        for name, entry in table.items():
            texts[f"{name} {width}"] = rendering.help_text(name, entry, width)
    rows = [f'    {{"{name}", R"tauto({text})tauto"}},' for name, text in sorted(texts.items())]
    _write(
        folder / "made.hpp",
        _HEADER.format(rows="\n".join(rows), wide=rendering.WIDE, narrow=rendering.NARROW),
    )
    for name, entry in table.items():
        page = rendering.manual(name, entry, version)
        _write(folder / "man1" / f"tauto-{name.replace(' ', '-')}.1", page)
    _write(folder / "man1" / "tauto.1", rendering.main_manual(help, version))
    for shell, file in (("bash", "tauto"), ("zsh", "_tauto"), ("fish", "tauto.fish")):
        _write(folder / shell / file, texts[f"completion {shell}"])


_HEADER = """#pragma once
// Made from the table of commands by lab/tautochrone/cli/made.py: what `tauto` prints without Python.

#include <string_view>
#include <utility>

namespace tauto::command {{

/// Columns that a help is made for.
inline constexpr int wide_columns = {wide};
inline constexpr int narrow_columns = {narrow};

/// "tune 80": the help of `tauto tune` in 80 columns; " 80": that of tauto; "completion bash": that script.
inline constexpr std::pair<std::string_view, std::string_view> texts[] = {{
{rows}
}};

}}  // namespace tauto::command
"""


def _write(path: Path, text: str) -> None:
    """Leave a file with that text alone, so that nothing is compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

"""``tauto share``: a folder of results, or a simulated machine, as one file for others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tautochrone.errors import TautoError
from tautochrone.options import Argument, Option
from tautochrone.results.store import Store
from tautochrone.studies.sharing import Shared, shared, write
from tautochrone.studies.simulated_set import simulated_set
from tautochrone.text import format_bytes


@dataclass(frozen=True)
class ShareRequest:
    """Pack a study into one file without names, paths or host data.

    The CPU's model, its cores, caches and measured speeds stay. tauto claims --with reads the file. With
    --simulated it holds what the study of loops would have measured on a machine file's machine, and says so.

    \b
    Examples:
      tauto share tautochrone-results/loop --output my-laptop.tauto
      tauto share --simulated rk3588 --output board.tauto
    """  # noqa: D301

    folder: Annotated[Path | None, Argument("[FOLDER]", "A folder of results.")] = None
    simulated: Annotated[
        str | None, Option("Instead of a folder: simulate this machine (a name, or a file).", "MACHINE")
    ] = None
    output: Annotated[Path | None, Option("Where to write. Default: STUDY.tauto.", "FILE")] = None

    def run(self) -> int:
        """Write the file, and print what is in it; 0."""
        content = self._content()
        path = self.output or Path(f"{content.study}.tauto")
        size = write(content, path)
        print(f"{path}: {len(content.rows):,} runs on {content.name}, {format_bytes(size)}")
        return 0

    def _content(self) -> Shared:
        if (self.folder is None) == (self.simulated is None):
            raise TautoError(
                "tauto share packs one folder of results, or one simulated machine",
                "Name a FOLDER, or give --simulated MACHINE",
            )
        if self.simulated is not None:
            return simulated_set(self.simulated)
        assert self.folder is not None
        with Store.read(self.folder) as store:
            return shared(store)

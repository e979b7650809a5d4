"""``tauto completion``: what a shell reads to complete commands and options."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from tautochrone.cli import completion, table
from tautochrone.options import Argument


@dataclass(frozen=True)
class CompletionRequest:
    """Print the script that lets a shell complete commands and options.

    For one session: eval "$(tauto completion bash)".

    \b
    Examples:
      tauto completion bash > ~/.local/share/bash-completion/completions/tauto
      tauto completion zsh > ~/.zfunc/_tauto
      tauto completion fish > ~/.config/fish/completions/tauto.fish
    """  # noqa: D301

    shell: Annotated[Literal["bash", "zsh", "fish"], Argument("SHELL", "The shell that reads it.")]

    def run(self) -> int:
        print(completion.script(self.shell, json.loads(table.FILE.read_text(encoding="utf-8"))), end="")
        return 0

"""The executable ``tauto``, which applies profiles, for whoever came to the laboratory first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from tautochrone.errors import TautoError
from tautochrone.runners import COMMAND, find


def become_run(words: Sequence[str]) -> NoReturn:
    """Become ``tauto run`` with these words behind it. Raises TautoError where that is not here."""
    command = find(COMMAND)
    try:
        os.execv(command, [COMMAND, "run", *words])
    except OSError as error:
        raise TautoError(
            f"{command} could not be started: {error.strerror}", "Build it again (make)"
        ) from error

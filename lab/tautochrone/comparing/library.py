"""``from tautochrone import compare``: comparisons from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone.comparing.entries import entries_of, words_of
from tautochrone.comparing.functions import functions
from tautochrone.comparing.measure import measure
from tautochrone.comparing.result import Compared
from tautochrone.comparing.revisions import compare_revisions
from tautochrone.comparing.settings import Settings
from tautochrone.errors import TautoError


class Compare:
    """Compares commands where it is called; also callables, and a command at two revisions."""

    functions = staticmethod(functions)

    def __call__(
        self,
        commands: Sequence[str | Sequence[object]],
        *,
        names: Sequence[str] = (),
        environments: Sequence[Mapping[str, str]] = (),
        **settings: Any,
    ) -> Compared:
        """Compare 1 to 20 commands, each a list of words or one text that is split as a shell would.

        The first is the reference. `environments` are variables for each command; `settings` are the fields
        of `comparing.settings.Settings`, such as rounds, precision, budget_seconds and objective. TautoError
        for what cannot be compared, TypeError for a setting that there is not.
        """
        if isinstance(commands, str):
            raise TautoError(
                "one text was given, not a list of commands", 'Write compare(["./old", "./new"])'
            )
        if environments and len(environments) != len(commands):
            raise TautoError(
                f"{len(environments)} environments were given for {len(commands)} commands",
                "Give one for each, {} where nothing is added",
            )
        entries = entries_of([words_of(one) for one in commands], names)
        for entry, variables in zip(entries, environments, strict=False):
            entry.environment.update(variables)
        return measure(entries, Settings(**settings))

    def revisions(
        self,
        old: str,
        new: str,
        command: str | Sequence[object],
        *,
        build: str | None = None,
        **settings: Any,
    ) -> Compared:
        """Compare a command at two revisions of this folder's git repository, each built by `build`.

        See `comparing.revisions.compare_revisions`.
        """
        return compare_revisions([old, new], words_of(command), Settings(**settings), measure, build=build)


compare = Compare()

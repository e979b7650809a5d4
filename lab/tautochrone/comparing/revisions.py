"""``tauto compare --revisions main HEAD``: a program at two revisions of its repository."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tautochrone import verdicts
from tautochrone.comparing import worktrees
from tautochrone.comparing.result import Asked, Compared
from tautochrone.comparing.settings import Entry, Settings
from tautochrone.comparing.worktrees import Repository, Revision, Worktrees
from tautochrone.errors import TautoError

Measure = Callable[[Sequence[Entry], Settings], Compared]
Say = Callable[[str], None]


def to_stderr(sentence: str) -> None:
    print(f"tauto: {sentence}", file=sys.stderr, flush=True)


def compare_revisions(
    revisions: Sequence[str],
    words: Sequence[str],
    settings: Settings,
    measure: Measure,
    *,
    build: str | None = None,
    say: Say = to_stderr,
    here: Path | None = None,
) -> Compared:
    """The command at each of the revisions; the first is the reference.

    Each is built in a worktree of its own, and run at the folder that corresponds to `here` (the current
    one). TautoError for what cannot be built or compared; the worktrees are removed all the same.
    """
    repository, found = resolved(revisions, words, here)
    with worktrees.worktrees(repository, say) as made:
        entries = [entry_of(made, revision, words, build) for revision in found]
        compared = measure(entries, settings)
        remarks = [*remarks_on(repository, found), *_may_be_one(compared, entries)]
    return msgspec.structs.replace(compared, remarks=(*remarks, *compared.remarks))


def resolved(
    names: Sequence[str], words: Sequence[str], here: Path | None = None
) -> tuple[Repository, list[Revision]]:
    """The repository and its revisions. TautoError for what cannot be compared, before anything is built."""
    if not words:
        raise TautoError(
            "--revisions needs the command to run at each of them",
            "Write it last: tauto compare --revisions main HEAD --build make -- ./prog",
        )
    repository = Repository.of((here or Path.cwd()).resolve())
    found = [repository.revision(name) for name in names]
    for place, one in enumerate(found):
        for other in found[:place]:
            if (one.commit, one.as_it_is) == (other.commit, other.as_it_is):
                raise TautoError(
                    f"{other.name} and {one.name} are the same commit, {one.short}",
                    "Name two that differ; to compare a command with itself, write -- ./prog : ./prog",
                )
    return repository, found


def entry_of(made: Worktrees, revision: Revision, words: Sequence[str], build: str | None) -> Entry:
    """A revision in a worktree, built and ready to run."""
    path = made.new(revision)
    return ready(made, path, revision, words, build)


def ready(made: Worktrees, path: Path, revision: Revision, words: Sequence[str], build: str | None) -> Entry:
    """A worktree that has that revision, built. NotBuilt where that fails, or where it lacks the program."""
    place = made.place(path, revision)
    if build is not None:
        made.build(place, build, revision)
    worktrees.check_program(words, place, made.repository, revision)
    return Entry(Asked(name=revision.name, words=tuple(words), folder=str(place)))


def remarks_on(repository: Repository, found: Sequence[Revision]) -> list[str]:
    """Which commits were meant, and what of the user's tree was not measured."""
    remarks = [revision.words for revision in found]
    if repository.is_dirty() and not any(revision.as_it_is for revision in found):
        remarks.append(
            "changes that are not committed were not measured; WORKTREE as a revision is the tree as it is"
        )
    if any(revision.as_it_is for revision in found) and not repository.uncommitted():
        remarks.append("nothing here is not committed: WORKTREE is what HEAD is")
    trees = {repository.git("rev-parse", f"{one.commit}^{{tree}}") for one in found if not one.as_it_is}
    if len(trees) == 1 and len(found) > 1 and not any(revision.as_it_is for revision in found):
        remarks.append("the files of these revisions are all the same")
    return remarks


def _may_be_one(compared: Compared, entries: Sequence[Entry]) -> list[str]:
    """A program from elsewhere is the same at each revision."""
    if any(side.verdict != verdicts.NO_DIFFERENCE for side in compared.rivals):
        return []
    asked = entries[0].asked
    if worktrees.names_a_file(asked.words, Path(asked.folder)):
        return []
    return [
        f"no word of the command is a file of the revisions: see whether {asked.words[0]} uses theirs, or is "
        "the same each time"
    ]

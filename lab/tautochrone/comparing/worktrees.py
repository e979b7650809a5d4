"""Revisions of a git repository, each in a folder of its own outside the user's tree, and built there.

The user's files, index, branches and settings stay as they are. Of git's own folder only `worktrees/` gets
entries, which go when the folders go; those of a process that was killed are removed by the next one. They
are looked for one by one: `git worktree prune` would also forget worktrees of the user's whose disk is away.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.errors import TautoError, explained
from tautochrone.measuring.subprocess_executor import signal_name
from tautochrone.measuring.temporary import temporary_file, temporary_folder

AS_IT_IS = ("WORKTREE", ".")
"""The words for the user's tree with what is not committed."""

_PREFIX = "tauto-worktrees-"
_RESULTS = "tautochrone-results"
_SHOWN_LINES = 12
_SHOWN_BYTES = 1 << 14
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
_LONG_COMMIT = 40


@dataclass(frozen=True)
class Revision:
    """A commit as the user calls it. `as_it_is`: with what is not committed on top of it."""

    name: str
    commit: str
    subject: str = ""
    as_it_is: bool = False

    @property
    def short(self) -> str:
        return self.commit[:10]

    @property
    def words(self) -> str:
        """The name, the commit and what it does: main is 1a2b3c4d5e, Fix the parser."""
        if self.as_it_is:
            return f"{self.name} is {self.short} with what is not committed"
        name = "" if self.commit.startswith(self.name) else f"{self.name} is "
        return f"{name}{self.short}, {self.subject}"


class NotBuilt(TautoError):
    """A revision cannot be built, or lacks what is run."""


@dataclass(frozen=True)
class Repository:
    """The repository of a folder.

    `git_folder` is what all its worktrees share, `below` the folder in its tree. `top` is None in a
    repository without a tree of its own.
    """

    here: Path
    git_folder: Path
    top: Path | None
    below: str

    @classmethod
    def of(cls, here: Path) -> Repository:
        """TautoError where there is no git, no repository or no commit."""
        common = _git(["rev-parse", "--git-common-dir"], here, own=False)
        if common.returncode != 0:
            why = common.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
            if "not a git repository" in why:
                raise TautoError(
                    f"{here} is in no git repository, so it has no revisions",
                    "Go to the repository, or compare two commands: tauto compare -- ./old : ./new",
                )
            raise TautoError(f"git cannot read the repository of {here}: {why}", "Put that right first")
        inside = _git(["rev-parse", "--show-toplevel", "--show-prefix"], here, own=False)
        lines = inside.stdout.split("\n") if inside.returncode == 0 else ["", ""]
        found = cls(
            here=here,
            git_folder=(here / common.stdout.rstrip("\n")).resolve(),
            top=Path(lines[0]) if lines[0] else None,
            below=lines[1],
        )
        if not _git(["rev-list", "--max-count=1", "--all"], here, own=False).stdout.strip():
            raise TautoError(
                f"the repository of {here} has no commits, so there is nothing to compare",
                "Commit, or compare two commands: tauto compare -- ./old : ./new",
            )
        return found

    def revision(self, name: str) -> Revision:
        """TautoError for a name that is no commit of this repository."""
        as_it_is = name in AS_IT_IS
        if as_it_is and self.top is None:
            raise TautoError(f"{name} is no revision here: the repository has no tree", "Name two commits")
        wanted = "HEAD" if as_it_is else name
        found = _git(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}"],
            self.here,
            own=False,
        )
        commit = found.stdout.strip()
        if found.returncode != 0 or not commit:
            shallow = self.git("rev-parse", "--is-shallow-repository").strip() == "true"
            raise TautoError(
                f"there is no revision {name!r} in the repository of {self.here}",
                "This clone is shallow: fetch the rest with git fetch --unshallow"
                if shallow
                else "git log and git branch --all list them; fetch it first if it is elsewhere",
            )
        return Revision(name, commit, self.subject(commit), as_it_is)

    def subject(self, commit: str) -> str:
        return self.git("show", "--no-patch", "--format=%s", commit).strip()

    def merge_base(self, one: str, other: str) -> str:
        """Their last common ancestor; empty where they have none."""
        return _git(["merge-base", one, other], self.git_folder).stdout.partition("\n")[0]

    def is_dirty(self) -> bool:
        """Whether files that git knows are changed and not committed."""
        return any(not line.startswith("??") for line in self.uncommitted())

    def uncommitted(self) -> list[str]:
        """A line for each file that is changed, or that git does not know, as `git status` prints it."""
        if self.top is None:
            return []
        words = ["--no-optional-locks", "status", "--porcelain", "--ignore-submodules=dirty"]
        lines = _git(words, self.here, own=False).stdout.splitlines()
        return [line for line in lines if not line.endswith(f"{_RESULTS}/")]

    def git(self, *words: str, at: Path | None = None) -> str:
        """What git prints, in the worktree `at` or in none. TautoError where it fails."""
        where = [] if at is not None else [f"--git-dir={self.git_folder}"]
        done = _git([*where, *words], at or self.git_folder)
        if done.returncode != 0:
            why = done.stderr.strip().removeprefix("fatal: ")
            raise TautoError(f"git {words[0]} failed: {why}", "Run it by hand to see why")
        return done.stdout


def _git(
    words: Sequence[str], here: Path, *, own: bool = True, allowed: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git. `own`: in one of our worktrees, without the variables by which a hook names another one."""
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    if own:
        for name in _LOCAL:
            environment.pop(name, None)
    if allowed is not None:
        environment["GIT_ALLOW_PROTOCOL"] = allowed
    try:
        return subprocess.run(
            ["git", *_QUIET, *words],
            cwd=here,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
    except FileNotFoundError as error:
        raise TautoError("git was not found, and revisions are read by it", "Install git") from error


# `git rev-parse --local-env-vars` names them.
_LOCAL = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)


@contextmanager
def worktrees(repository: Repository, say: Callable[[str], None]) -> Iterator[Worktrees]:
    """Where worktrees are made; all of them go at the end, whatever the end is."""
    with _told_to_end(), temporary_folder(_PREFIX, _outside(repository)) as folder:
        _forget_left_over(repository)
        made = Worktrees(repository, folder, say)
        try:
            yield made
        finally:
            made.remove()


@contextmanager
def _told_to_end() -> Iterator[None]:
    """SIGTERM and SIGHUP are an interrupt meanwhile: they would end this process with all worktrees left."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _outside(repository: Repository) -> Path:
    """Where temporary files go; elsewhere if that is in the user's tree."""
    for place in (Path(tempfile.gettempdir()), Path("/var/tmp"), Path("/tmp")):
        in_tree = repository.top is not None and place.resolve().is_relative_to(repository.top.resolve())
        if not in_tree and os.access(place, os.W_OK | os.X_OK):
            return place
    raise TautoError(
        "there is no folder for temporary files outside the tree", "Name one in the variable TMPDIR"
    )


def _forget_left_over(repository: Repository) -> None:
    """Drop git's entries of our folders that are gone."""
    for line in repository.git("worktree", "list", "--porcelain").splitlines():
        path = Path(line.removeprefix("worktree "))
        ours = line.startswith("worktree ") and path.parent.name.startswith(_PREFIX)
        if ours and not path.parent.exists():
            _forget(repository, path)


def _forget(repository: Repository, path: Path) -> None:
    """Twice the force: git locks a worktree while it is made, and leaves the lock where it is killed."""
    with suppress(TautoError):
        repository.git("worktree", "remove", "--force", "--force", str(path))


@dataclass
class Worktrees:
    """Worktrees in one folder, with names of equal length: a path is part of what a program reads."""

    repository: Repository
    folder: Path
    say: Callable[[str], None]
    _made: list[Path] = field(default_factory=list)

    def new(self, revision: Revision) -> Path:
        """A new worktree of that revision. TautoError where git refuses."""
        path = self.folder / f"{len(self._made) + 1:02}"
        self._made.append(path)
        git = self.repository.git
        remedy = "Make room there, or name another place for temporary files in TMPDIR"
        with explained(f"{revision.name} cannot be written to {path}", remedy):
            if revision.as_it_is:
                git("worktree", "add", "--detach", "--no-checkout", str(path), revision.commit)
                git("read-tree", "HEAD", at=path)
                self._copy_tree(path)
            else:
                git("worktree", "add", "--detach", str(path), revision.commit)
                self._submodules(path, self.repository.git_folder)
        return path

    def switch(self, path: Path, commit: str) -> None:
        """Make a worktree one of another commit. What was built in it stays, for a quicker build."""
        self.repository.git("checkout", "--quiet", "--force", "--detach", commit, at=path)
        self._submodules(path, self.repository.git_folder)

    def clean(self, path: Path) -> None:
        """Remove from a worktree what is not of its commit."""
        self.repository.git("clean", "-ffdxq", at=path)

    def place(self, path: Path, revision: Revision) -> Path:
        """Where commands run in a worktree: at the folder that the user is in. NotBuilt if it lacks that."""
        place = path / self.repository.below
        if not place.is_dir():
            raise NotBuilt(
                f"{revision.name} has no folder {self.repository.below.rstrip('/')}, where you are",
                "Go to a folder that both revisions have",
            )
        return place

    def build(self, place: Path, command: str, revision: Revision) -> None:
        """Run the build by /bin/sh. NotBuilt with the last lines of what it prints, if it fails."""
        self.say(f"building {revision.name}: {command}")
        with temporary_file("tauto-build-") as output, output.open("wb") as file:
            build = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in os.environ.items() if name not in _LOCAL},
                start_new_session=True,
            )
            try:
                code = build.wait()
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(build.pid, signal.SIGKILL)
                build.wait()
            if code != 0:
                raise NotBuilt(
                    f"{revision.name} cannot be built: {command!r} {_ended(code)}{_last_lines(output)}",
                    "Correct --build, or name revisions that can be built",
                )

    def remove(self) -> None:
        """Remove all worktrees, and what git knows of them."""
        for path in self._made:
            _let_remove(path)
            shutil.rmtree(path, ignore_errors=True)
            _forget(self.repository, path)

    def _copy_tree(self, path: Path) -> None:
        """The user's files as they are, but for those that git ignores."""
        top = self.repository.top
        if top is None:
            return
        words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", f"--exclude={_RESULTS}/"]
        listed = _git(["-C", str(top), *words], self.repository.here, own=False).stdout
        for name in sorted(set(listed.split("\0")) - {""}):
            source, target = top / name, path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink() or source.is_file():
                shutil.copy2(source, target, follow_symlinks=False)
            elif source.is_dir():  # a submodule, or a repository that is none
                ignored = shutil.ignore_patterns(".git")
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=ignored)

    def _submodules(self, path: Path, git_folder: Path) -> None:
        """The submodules that the user has. `git submodule` would write into the repository's settings."""
        if not (path / ".gitmodules").is_file():
            return
        words = ["config", "--file", ".gitmodules", "--null", "--get-regexp", r"^submodule\..*\.path$"]
        for entry in _git(words, path).stdout.split("\0"):
            key, newline, below = entry.partition("\n")
            origin = git_folder / "modules" / key.removeprefix("submodule.").removesuffix(".path")
            if not newline or not origin.is_dir():
                continue
            tree = self.repository.git("ls-tree", "-z", "HEAD", "--", below, at=path).rstrip("\0").split()
            if len(tree) > 2 and tree[1] == "commit":
                self._submodule(path / below, origin, tree[2])
                self._submodules(path / below, origin)

    def _submodule(self, target: Path, origin: Path, commit: str) -> None:
        if not (target / ".git").exists():
            target.mkdir(parents=True, exist_ok=True)
            self._in(target.parent, "clone", "--quiet", "--shared", "--no-checkout", str(origin), str(target))
        if _git(["cat-file", "-e", f"{commit}^{{commit}}"], target).returncode != 0:
            url = _git([f"--git-dir={origin}", "config", "remote.origin.url"], origin).stdout.strip()
            self._in(target, "fetch", "--quiet", url, commit)
        self._in(target, "checkout", "--quiet", "--force", "--detach", commit)

    def _in(self, place: Path, *words: str) -> None:
        done = _git(words, place, allowed="file:git:http:https:ssh")
        if done.returncode != 0:
            raise TautoError(
                f"a submodule cannot be had: git {words[0]} says {done.stderr.strip()}",
                "Fetch it first: git submodule update --init --recursive",
            )


def check_program(words: Sequence[str], place: Path, repository: Repository, revision: Revision) -> None:
    """NotBuilt for a program that the worktree lacks; TautoError for one of the user's own tree."""
    program = Path(words[0])
    if program.is_absolute():
        top = repository.top
        if top is not None and program.resolve().is_relative_to(top.resolve()):
            raise TautoError(
                f"{program} is in your own tree, so each revision would run the same program",
                f"Name it by its path from here: ./{os.path.relpath(program.resolve(), repository.here)}",
            )
        return
    if "/" not in words[0]:
        return
    if not (place / program).is_file():
        raise NotBuilt(
            f"{revision.name} has no {words[0]}",
            "Name what makes it with --build 'make', or correct the path",
        )
    if not os.access(place / program, os.X_OK):
        raise NotBuilt(f"{words[0]} of {revision.name} cannot be executed", "Make it so: chmod +x")


def names_a_file(words: Sequence[str], place: Path) -> bool:
    """Whether a word of the command is a file of the worktree: else both revisions may run the same."""
    return any(word and not word.startswith("/") and (place / word).exists() for word in words)


def _ended(code: int) -> str:
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    return f"ended with exit code {code}"


def _last_lines(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _SHOWN_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()[-_SHOWN_LINES:]
    return ". Its last lines:\n" + "\n".join(f"  {line}" for line in lines) + "\n" if lines else ""


def _let_remove(folder: Path) -> None:
    """Builds leave folders that cannot be written (modules of Go), and those cannot be emptied."""
    for place, _, _ in os.walk(folder):
        with suppress(OSError):
            mode = os.lstat(place).st_mode
            if not mode & stat.S_IWUSR:
                os.chmod(place, mode | stat.S_IRWXU)  # noqa: PTH101

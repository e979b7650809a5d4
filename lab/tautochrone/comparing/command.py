"""``tauto compare``: which of some commands is faster, or how two stored results compare."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tautochrone import text
from tautochrone.comparing import printing
from tautochrone.comparing.entries import entries_of, of_lines, parse_parameters, parted
from tautochrone.comparing.measure import STUDY, Services, measure
from tautochrone.comparing.result import Compared
from tautochrone.comparing.settings import ANY, DEFAULT_BUDGET_SECONDS, Codes, Entry, Settings
from tautochrone.errors import TautoError
from tautochrone.files import write_whole
from tautochrone.measuring.configuration import digest
from tautochrone.measuring.progress import Progress, SilentProgress
from tautochrone.options import Argument, Option, Words, parse_budget
from tautochrone.results.sittings import CANNOT_TELL_CODE

if TYPE_CHECKING:
    from rich.console import Console

    from tautochrone.comparing.bisected import Bisected

SLOWER_CODE = 3
Format = Literal["text", "json", "markdown", "csv", "github"]


def parse_percent(words: str, option: str) -> float:
    """Read "2%", "2 %" or "0.02" as 0.02. TautoError for anything else."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(%?)", words.strip())
    if match is None:
        raise TautoError(f"{option} {words!r} is no share", "Write it like 2%")
    return float(match[1]) / (100.0 if match[2] else 1.0)


def parse_codes(words: str) -> Codes:
    """Read "all" as every code, "1,3" as (1, 3)."""
    if words == ANY:
        return ANY
    if not re.fullmatch(r"-?[0-9]{1,9}(,-?[0-9]{1,9})*", words):
        raise TautoError(f"--ignore-failure {words!r} is no list of exit codes", "Write all, or 1,3")
    return tuple(map(int, words.split(",")))


@dataclass(frozen=True, kw_only=True)
class CompareCommand:
    """Say which command is faster, by how much, and how sure that is.

    The commands run in turns, so that what the machine does meanwhile meets all of them, until the ratio is
    known within --precision or the budget is over. The first command is the reference. A lone : parts two
    commands; write :: for a word that is a colon. One command alone is measured.

    \b
    Examples:
      tauto compare -- ./old args : ./new args
      tauto compare './old args' './new args'                 the same
      tauto compare -L n 1,2,4 -- ./prog -j {n}               one command for each value
      tauto compare --fail-if-slower 2% -- ./old : ./new      3: slower by more; 4: it cannot be told
      tauto compare --revisions main HEAD --build make -- ./prog
      tauto compare tautochrone-results/before tautochrone-results/after
    """  # noqa: D301

    revisions: Annotated[
        tuple[str, str] | None,
        Option(
            "Compare the command at two revisions of this git repository, each in a worktree of its own. "
            "WORKTREE is the tree as it is.",
            "OLD NEW",
            tuple,
            words=2,
        ),
    ] = None
    build: Annotated[
        str | None, Option("With --revisions: what builds each of them, such as 'make -j2'.", "COMMAND")
    ] = None
    bisect: Annotated[
        bool, Option("With --revisions: find the commit between them that made the command slower.")
    ] = False
    given: Annotated[
        tuple[str, ...],
        Argument(
            "[A B]", "Two folders of results, files of other tools, or commands that are one word each.", True
        ),
    ] = ()
    command: Annotated[tuple[str, ...], Words("The commands, parted by colons.")] = ()
    names: Annotated[
        tuple[str, ...],
        Option(
            "What to call a command; once for each.",
            "NAME",
            flag="--name",
            many=True,
            also=("-n", "--command-name"),
        ),
    ] = ()
    parameters: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "Run each command that has {NAME} once with each value.",
            "NAME A,B,C",
            flag="--parameter-list",
            many=True,
            also=("-L",),
            words=2,
        ),
    ] = ()
    rounds: Annotated[int | None, Option("Exactly so many rounds.", "N", also=("-r", "--runs"))] = None
    precision: Annotated[
        float,
        Option(
            "End once the ratio is known within this. Default: 1%.",
            "SHARE",
            partial(parse_percent, option="--precision"),
        ),
    ] = 0.01
    budget_seconds: Annotated[
        float | None,
        Option(
            f"Or end after this time: 90s, 5m. Default: {DEFAULT_BUDGET_SECONDS:.0f}s, or as long as a "
            "verdict takes.",
            "TIME",
            parse_budget,
            "--budget",
        ),
    ] = None
    warmup: Annotated[int, Option("Runs before those that count.", "N", also=("-w",))] = 0
    setup: Annotated[
        str | None, Option("Run this once before the first run of each command.", "LINE", also=("-s",))
    ] = None
    prepare: Annotated[
        tuple[str, ...],
        Option(
            "Run this before each run; once for all or once for each command.",
            "LINE",
            many=True,
            also=("-p",),
        ),
    ] = ()
    conclude: Annotated[
        tuple[str, ...], Option("Run this after each run.", "LINE", many=True, also=("-C",))
    ] = ()
    cleanup: Annotated[
        str | None, Option("Run this once after the last run of each command.", "LINE", also=("-c",))
    ] = None
    input: Annotated[Path | None, Option("The file that the commands read. Default: nothing.", "FILE")] = None
    ignore_failure: Annotated[
        Codes,
        Option(
            "Count runs with these exit codes too. Without codes: with any.",
            "CODES",
            parse_codes,
            also=("-i",),
            alone="all",
        ),
    ] = ()
    shell: Annotated[
        str | None, Option("Start each command through this shell. Default: none.", "SHELL", also=("-S",))
    ] = None
    no_shell: Annotated[bool, Option("As it is anyway.", flag="-N")] = False
    cpus: Annotated[
        str | None, Option("Where to run: quietest, fast, slow, or a list such as 0-3.", "CPUS")
    ] = None
    objective: Annotated[
        str, Option("time, cpu, energy, memory, 'regex:PATTERN' or 'regex-max:PATTERN'.", "WHAT")
    ] = "time"
    check: Annotated[
        str | None, Option("A command that reads the output; if it fails, the run does not count.", "LINE")
    ] = None
    time_limit_seconds: Annotated[
        float | None,
        Option("The time limit of each run. Default: ten times the usual.", "SECONDS", flag="--time-limit"),
    ] = None
    calibrate: Annotated[
        bool, Option("Measure also what starting each program costs, and what it takes by itself.")
    ] = False
    fail_if_slower: Annotated[
        float | None,
        Option(
            "Exit code 3 if a command is slower than the first by more than this; 4 if that cannot be told.",
            "SHARE",
            partial(parse_percent, option="--fail-if-slower"),
        ),
    ] = None
    save: Annotated[str | None, Option("Keep this measurement under a name.", "NAME")] = None
    against: Annotated[str | None, Option("Compare with what was saved under a name.", "NAME")] = None
    format: Annotated[
        Format | None, Option("How to print the answer: text, json, markdown, csv or github.")
    ] = None
    json: Annotated[bool, Option("The same as --format json.")] = False
    markdown: Annotated[bool, Option("The same as --format markdown.")] = False
    csv: Annotated[bool, Option("The same as --format csv.")] = False
    export_json: Annotated[Path | None, Option("Also write the answer as JSON.", "FILE")] = None
    export_markdown: Annotated[Path | None, Option("Also write it as Markdown.", "FILE")] = None
    export_csv: Annotated[Path | None, Option("Also write it as CSV.", "FILE")] = None
    report: Annotated[bool, Option("Also write report.html beside the rows.")] = False
    output: Annotated[
        Path | None, Option("Where the rows go. Default: tautochrone-results/compare-PROGRAM-…", "FOLDER")
    ] = None
    seed: Annotated[int, Option("The seed for the order of the runs.")] = 1
    fresh: Annotated[bool, Option("Start anew instead of going on with an interrupted comparison.")] = False
    across_machines: Annotated[bool, Option("Compare results although they are of two machines.")] = False
    across_states: Annotated[
        bool, Option("The machine was changed on purpose between two results: that is compared too.")
    ] = False

    def run(self, console: Console | None = None) -> int:
        commands = self._commands()
        if commands is None:
            return self._results(console)
        self._refuse_contradictions()
        if self.revisions is not None:
            return self._at_revisions(self.revisions, commands, console or _console())
        entries = entries_of(commands, self.names, parse_parameters(self.parameters), self.shell)
        settings = self.settings(entries)
        found = measure(entries, settings, _services())
        if self.against is not None and settings.output is not None:
            from tautochrone.comparing import saved

            found = saved.against(self.against, settings.output)
        return self.answer(found, console or _console())

    def settings(self, entries: Sequence[Entry]) -> Settings:
        """What the options ask for."""
        names = (
            "rounds", "precision", "budget_seconds", "warmup", "setup", "prepare", "conclude", "cleanup",
            "input", "ignore_failure", "cpus", "objective", "check", "time_limit_seconds", "calibrate",
            "seed", "fresh",
        )  # fmt: skip
        values = {name: getattr(self, name) for name in names}
        if self.save is not None:
            from tautochrone.comparing import saved

            return Settings(**{**values, "output": saved.folder_of(self.save), "fresh": True})
        asked = Settings(**values)
        return replace(asked, output=self.output or _folder_for(entries, asked))

    def _at_revisions(
        self, revisions: tuple[str, str], commands: Sequence[tuple[str, ...]], console: Console
    ) -> int:
        if len(commands) != 1 or self.parameters or self.names or self.save or self.against:
            raise TautoError(
                "--revisions takes one command, and no --name, -L, --save or --against",
                "Write tauto compare --revisions main HEAD --build make -- ./prog",
            )
        (entry,) = entries_of(commands, shell=self.shell)
        # The folders of the worktrees are others each time, so an interrupted comparison cannot go on.
        settings = replace(self.settings([entry]), fresh=True)

        def measured(entries: Sequence[Entry], settings: Settings) -> Compared:
            return measure(entries, settings, _services())

        if self.bisect:
            if self._format() == "csv" or self.export_csv is not None:
                raise TautoError("--bisect has no table for CSV", "Use --json, --markdown or --format github")
            from tautochrone.comparing.bisect import bisect

            return self._bisected(
                bisect(revisions, entry.asked.words, settings, measured, build=self.build), console
            )
        from tautochrone.comparing.revisions import compare_revisions

        compared = compare_revisions(revisions, entry.asked.words, settings, measured, build=self.build)
        return self.answer(compared, console)

    def _bisected(self, found: Bisected, console: Console) -> int:
        from tautochrone.comparing import bisected

        code = 0 if found.told else CANNOT_TELL_CODE
        if (chosen := self._format()) == "github":
            from tautochrone.comparing import github

            markdown = bisected.as_markdown(found)
            console.out(github.handed_over(markdown, found.outputs, code), highlight=False)
        else:
            console.out(bisected.FORMATS[chosen](found), highlight=False)
        for name, path in (("json", self.export_json), ("markdown", self.export_markdown)):
            if path is not None:
                write_whole(path, bisected.FORMATS[name](found) + "\n")
        return code

    def answer(self, found: Compared, console: Console) -> int:
        """Print and write the answer; the exit code."""
        chosen = self._format()
        if chosen == "text":
            printing.show(found, console)
        elif chosen == "github":
            from tautochrone.comparing import github

            markdown = printing.as_markdown(found)
            console.out(
                github.handed_over(markdown, github.outputs(found), self._code(found)), highlight=False
            )
        else:
            console.out(printing.FORMATS[chosen](found), highlight=False)
        for name, path in (
            ("json", self.export_json), ("markdown", self.export_markdown), ("csv", self.export_csv)
        ):  # fmt: skip
            if path is not None:
                write_whole(path, printing.FORMATS[name](found) + "\n")
        if self.report:
            from tautochrone.comparing.reporting import report_again

            print(f"Report: {report_again(Path(found.folder))}", file=sys.stderr)
        return self._code(found)

    def _code(self, found: Compared) -> int:
        if self.fail_if_slower is not None:
            return judged(found, self.fail_if_slower)
        return 0 if found.told else CANNOT_TELL_CODE

    def _format(self) -> Format:
        asked = [self.format, *(name for name in ("json", "markdown", "csv") if getattr(self, name))]
        chosen = [one for one in dict.fromkeys(asked) if one is not None]
        if len(chosen) > 1:
            raise TautoError(
                f"{text.joined([f'--{one}' for one in chosen])} exclude each other",
                "Ask for one; --export-json FILE and the like write others beside",
            )
        return chosen[0] if chosen else "text"

    def _commands(self) -> list[tuple[str, ...]] | None:
        """The words of the commands; None where two stored results are given."""
        if self.command:
            if self.given:
                raise TautoError(
                    f"{shlex.join(self.given)} stands before the --", "Write all commands behind it: -- A : B"
                )
            return parted(self.command)
        if not self.given:
            raise TautoError(
                "tauto compare was given nothing", "Write tauto compare -- ./old args : ./new args"
            )
        if any(_is_result(word) for word in self.given):
            return None
        if any(" " in word.strip() for word in self.given) or all(map(shutil.which, self.given)):
            return of_lines(self.given)
        return None

    def _results(self, console: Console | None) -> int:
        from tautochrone.comparing import imports
        from tautochrone.results.compare import CompareRequest

        if any(imports.is_result(word) for word in self.given):
            return self.answer(imports.compare_files(self.given), console or _console())
        if len(self.given) != 2:
            raise TautoError(
                f"{text.count(len(self.given), 'result')} cannot be compared: it takes two",
                "Name two folders of results; commands stand behind --: tauto compare -- ./old : ./new",
            )
        request = CompareRequest(
            *self.given,
            json=self._format() == "json",
            across_machines=self.across_machines,
            across_states=self.across_states,
        )
        return request.run(console)

    def _refuse_contradictions(self) -> None:
        self._format()
        for option, given in (("--build", self.build), ("--bisect", self.bisect)):
            if given and self.revisions is None:
                raise TautoError(
                    f"{option} belongs to --revisions", "Add --revisions OLD NEW, or leave it out"
                )
        if self.save is not None and (self.output is not None or self.save == self.against):
            other = "--output" if self.output is not None else "--against with the same name"
            raise TautoError(f"--save and {other} exclude each other", "Leave one of them out")
        if self.against is not None:
            from tautochrone.comparing import saved

            saved.check(self.against, self.objective)
        for name in ("across_machines", "across_states"):
            if getattr(self, name):
                option = f"--{name.replace('_', '-')}"
                raise TautoError(
                    f"{option} is for stored results", "Leave it out: commands run in one sitting"
                )


def judged(found: Compared, most: float) -> int:
    """The exit code of ``--fail-if-slower``: 3 where a rival is resolved as slower by more than `most`.

    4 where it cannot be told whether one is; 0 where all are known not to be.
    """
    codes = []
    for side in found.rivals:
        ratio = side.ratio
        if ratio is None or ratio.low is None or ratio.high is None:
            codes.append(CANNOT_TELL_CODE)
        elif ratio.low > 1.0 + most:
            codes.append(SLOWER_CODE)
        else:
            codes.append(0 if ratio.high <= 1.0 + most else CANNOT_TELL_CODE)
    return SLOWER_CODE if SLOWER_CODE in codes else max(codes, default=0)


def _is_result(word: str) -> bool:
    """Whether a word names something that is stored."""
    where = Path(word if Path(word).exists() else word.rpartition("@")[0] or word)
    return where.is_dir() or where.suffix in (".json", ".jsonl")


def _folder_for(entries: Sequence[Entry], settings: Settings) -> Path:
    """A folder of their own for these commands, measured so."""
    words = [[entry.asked.words, entry.asked.folder] for entry in entries]
    how = [settings.judged, settings.rounds, settings.seed]
    program = re.sub(r"[^\w.-]", "_", Path(entries[0].asked.words[0]).name)[:40]
    return Path("tautochrone-results") / f"{STUDY}-{program}-{digest([words, how])[:6]}"


def _console() -> Console:
    from tautochrone.terminal import AnsweringTerminal  # it takes long to load: not before the first run

    return AnsweringTerminal()


def _services() -> Services:
    def progress(title: str) -> Progress:
        from tautochrone.measuring.progress import progress_for

        return progress_for(title) if sys.stderr.isatty() else SilentProgress()

    return Services(progress=progress, say=lambda sentence: print(f"tauto: {sentence}", file=sys.stderr))

"""Scripts that let a shell complete tauto's commands and options. Needs nothing but Python and the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Table = Mapping[str, Mapping[str, Any]]
SHELLS = ("bash", "zsh", "fish")


def script(shell: str, table: Table) -> str:
    """What the shell reads: ``tauto completion bash``."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](table)


def _inside(table: Table, name: str) -> list[str]:
    """The commands inside one; of "" all that stand behind tauto."""
    before = f"{name} " if name else ""
    return [one[len(before) :] for one in table if one.startswith(before) and " " not in one[len(before) :]]


def _flags(entry: Mapping[str, Any]) -> list[str]:
    return [flag for option in entry["options"] for flag in option["flags"]]


def _choices(table: Table) -> Iterable[tuple[str, str, str]]:
    """Command, flag and the words that may follow it."""
    for name, entry in table.items():
        for option in entry["options"]:
            if isinstance(option["value"], list):
                for flag in option["flags"]:
                    yield name, flag, " ".join(option["value"])


def _takes_word(entry: Mapping[str, Any]) -> list[str]:
    return [flag for option in entry["options"] if option["value"] for flag in option["flags"]]


_SHELL = """# {how}
{begin}
    local current path previous at word
    current=${{{words}[{at}]}} previous=${{{words}[{at}-1]}} path=
    at={first}
    while [ "$at" -lt "{at_value}" ]; do
        word=${{{words}[at]}}
        case $word in --) {otherwise} ;; -*) break ;; esac
        case "${{path:+$path }}$word" in {known}) path="${{path:+$path }}$word" ;; *) break ;; esac
        at=$((at + 1))
    done
    while [ "$at" -lt "{at_value}" ]; do
        case ${{{words}[at]}} in --) {otherwise} ;; esac
        at=$((at + 1))
    done
    case "$path:$previous" in
{choices}
    {takes}) {otherwise} ;;
    esac
    case "$path" in
{words_of}
    esac
{end}
"""


def _cases(table: Table, give: str) -> dict[str, str]:
    names = ["", *table]
    lines = []
    for name in names:
        flags = [*_flags(table[name]), "--help"] if name else ["--help", "--version"]
        inside = _inside(table, name)
        words = " ".join(dict.fromkeys([*inside, *flags]))
        lines.append(f'    "{name}") {give.format(words=words)} ;;')
    choices = [
        f'    "{name}:{flag}") {give.format(words=words)}; return ;;' for name, flag, words in _choices(table)
    ]
    takes = [f'"{name}:{flag}"' for name, entry in table.items() for flag in _takes_word(entry)]
    return {
        "known": " | ".join(f'"{name}"' for name in table),
        "choices": "\n".join(choices),
        "takes": " | ".join(takes),
        "words_of": "\n".join(lines),
    }


def _bash(table: Table) -> str:
    give = 'COMPREPLY=($(compgen -W "{words}" -- "$current"))'
    return _SHELL.format(
        how='bash: eval "$(tauto completion bash)"',
        begin="_tauto() {\n    COMPREPLY=()",
        words="COMP_WORDS",
        at="COMP_CWORD",
        at_value="$COMP_CWORD",
        first="1",
        otherwise="return",
        end="}\ncomplete -o default -F _tauto tauto",
        **_cases(table, give),
    )


def _zsh(table: Table) -> str:
    return "#compdef tauto\n" + _SHELL.format(
        how='zsh: eval "$(tauto completion zsh)", or this file as _tauto in a folder of $fpath',
        begin="_tauto() {",
        words="words",
        at="CURRENT",
        at_value="$CURRENT",
        first="2",
        otherwise="_files; return",
        end="    case $current in -*) ;; *) _files ;; esac\n}\n"
        'if [ "$funcstack[1]" = _tauto ]; then _tauto "$@"; else compdef _tauto tauto; fi',
        **_cases(table, "compadd -- {words}"),
    )


def _fish(table: Table) -> str:
    lines = ["# fish: tauto completion fish | source"]
    for name, entry in table.items():
        group, _, word = name.rpartition(" ")
        inside = f"__fish_seen_subcommand_from {group}" if group else "__fish_use_subcommand"
        first = " ".join(entry["help"].split("\n\n")[0].split())
        lines.append(f"complete -c tauto -f -n {_quoted(inside)} -a {word} -d {_quoted(first)}")
        seen = " ; and ".join(f"__fish_seen_subcommand_from {one}" for one in name.split())
        for option in entry["options"]:
            words = [f"complete -c tauto -n {_quoted(seen)}"]
            words += [
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option["flags"]
            ]
            if isinstance(option["value"], list):
                words.append(f"-x -a {_quoted(' '.join(option['value']))}")
            elif option["value"]:
                words.append("-r")
            words.append(f"-d {_quoted(' '.join(option['help'].split()))}")
            lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

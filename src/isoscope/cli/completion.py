"""``isoscope completion``: commands and options for the shells that people use.

The scripts are made of the commands as they are, so that pressing the tab key starts no Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from isoscope.cli.contents import contents
from isoscope.cli.streams import print_text
from isoscope.registry import load

EXAMPLES = """Examples:

isoscope completion bash >> ~/.bashrc

isoscope completion fish > ~/.config/fish/completions/isoscope.fish
"""

SHELLS = ("bash", "zsh", "fish")

BASH = """_isoscope() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="${{COMP_WORDS[1]}}" words="" values="" files=1
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
  esac
  if [ -n "$values" ]; then
    local before=""
    case "$current" in *,*) before="${{current%,*}},";; esac
    COMPREPLY=($(compgen -P "$before" -W "$values" -- "${{current##*,}}"))
    return
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then path=""; fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "${{COMP_WORDS[2]}}" in -*) ;; *) path="$path ${{COMP_WORDS[2]}}";; esac
  fi
  case "$path" in
{cases}
    *) path="${{path%% *}}"; case "$path" in
{cases}
    esac;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -n "$files" ] && [ "${{current#-}}" = "$current" ] && [ "$COMP_CWORD" -gt 1 ]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _isoscope isoscope
"""


# Lets zsh read a script for bash.
ZSH = """autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
"""


def completion_command(
    shell: Annotated[
        Literal["bash", "zsh", "fish"],
        typer.Argument(metavar="SHELL", help="bash, zsh or fish", show_default=False),
    ],
) -> None:
    """Print a script that lets your shell complete commands and options."""
    words = words_by_command()
    print_text(script_for_fish(words) if shell == "fish" else script_for_bash(words, shell))


def words_by_command() -> dict[str, list[str]]:
    """Return what may follow each command: names of commands, then options."""
    app = load("isoscope.cli.app:COMMANDS")
    loaded = load("isoscope.cli.app:loaded")
    found: dict[str, list[str]] = {"": [*app, "--help", "--version"]}
    for name in app:
        add_command(name, loaded(name), found)
    return found


def names_by_option() -> dict[str, list[str]]:
    """Return the names that options take, separated by commas where there are several."""
    found = contents()
    measures = [item["name"] for item in found["measures"]]
    corrections = [item["name"] for item in found["corrections"]]
    tasks = [item["name"] for item in found["tasks"] if "written" not in item]
    return {
        "measures": measures, "corrections": corrections, "correction": corrections,
        "tasks": tasks, "task": tasks,
    }  # fmt: skip


def names_by_command() -> dict[str, list[str]]:
    """Return the names that commands take in place of files."""
    studies = [*load("isoscope.verbs.study.reference:catalogue")()["studies"]]
    named = names_by_option()
    return {
        "list measures": named["measures"], "list corrections": named["corrections"],
        "list tasks": named["tasks"], "study show": studies, "completion": [*SHELLS],
    }  # fmt: skip


def without_files(words: Mapping[str, list[str]]) -> list[str]:
    """Return the commands after which no file is named: groups, and those that take names."""
    groups = [path for path, some in words.items() if path and not some[0].startswith("-")]
    return list(dict.fromkeys([*groups, *names_by_command()]))


def add_command(path: str, command: Any, found: dict[str, list[str]]) -> None:
    """Add the options of a command, and the commands below it."""
    below = getattr(command, "commands", {})
    options = [text for one in command.params if one.param_type_name == "option"
               for text in (*one.opts, *one.secondary_opts) if text.startswith("--")]  # fmt: skip
    names = names_by_command().get(path, [])
    found[path] = [*below, *names, *dict.fromkeys([*options, "--help"])]
    for name, one in below.items():
        add_command(f"{path} {name}", one, found)


def script_for_bash(words: Mapping[str, list[str]], shell: str) -> str:
    """Return a script for bash, which zsh reads with its own emulation of bash."""
    bare = without_files(words)
    cases = "\n".join(
        f'    "{path}") words="{" ".join(some)}"{"; files=" if path in bare else ""};;'
        for path, some in words.items()
    )
    named = "\n".join(
        f'    --{option}) values="{" ".join(names)}";;'
        for option, names in names_by_option().items()
    )
    script = BASH.format(cases=cases, values=named)
    if shell == "zsh":
        return f"{ZSH}{script}"
    return script


def script_for_fish(words: Mapping[str, list[str]]) -> str:
    """Return a script for fish."""
    names = [word for word in words[""] if not word.startswith("-")]
    lines = [f"complete -c isoscope -n __fish_use_subcommand -a '{' '.join(names)}'"]
    bare, named = without_files(words), names_by_option()
    for path, some in words.items():
        condition = " and ".join(f"__fish_seen_subcommand_from {part}" for part in path.split())
        given = f" -n '{condition.replace(' and ', '; and ')}'" if path else ""
        for word in (word[2:] for word in some if word.startswith("--")):
            known = " ".join(named.get(word, []))
            listed = f" -x -a \"(__fish_complete_list , 'string split \\  -- {known}')\""
            lines.append(f"complete -c isoscope{given} -l {word}{listed if known else ''}")
        below = [word for word in some if not word.startswith("-")]
        if path in bare:
            lines.append(f"complete -c isoscope{given} -f -a '{' '.join(below)}'")
    return "\n".join(lines)

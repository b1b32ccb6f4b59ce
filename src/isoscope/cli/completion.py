"""``isoscope completion``: commands and options for the shells that people use.

The scripts are made of the commands as they are, so that pressing the tab key starts no Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from isoscope.cli.streams import print_text
from isoscope.registry import load

EXAMPLES = """Examples:

isoscope completion bash >> ~/.bashrc

isoscope completion fish > ~/.config/fish/completions/isoscope.fish
"""

BASH = """_isoscope() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="${{COMP_WORDS[1]}}" words=""
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
  if [ "${{current#-}}" = "$current" ] && [ "$COMP_CWORD" -gt 1 ]; then
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


def add_command(path: str, command: Any, found: dict[str, list[str]]) -> None:
    """Add the options of a command, and the commands below it."""
    below = getattr(command, "commands", {})
    options = [text for one in command.params if one.param_type_name == "option"
               for text in (*one.opts, *one.secondary_opts) if text.startswith("--")]  # fmt: skip
    found[path] = [*below, *dict.fromkeys([*options, "--help"])]
    for name, one in below.items():
        add_command(f"{path} {name}", one, found)


def script_for_bash(words: Mapping[str, list[str]], shell: str) -> str:
    """Return a script for bash, which zsh reads with its own emulation of bash."""
    cases = "\n".join(f'    "{path}") words="{" ".join(some)}";;' for path, some in words.items())
    script = BASH.format(cases=cases)
    if shell == "zsh":
        return f"{ZSH}{script}"
    return script


def script_for_fish(words: Mapping[str, list[str]]) -> str:
    """Return a script for fish."""
    names = [word for word in words[""] if not word.startswith("-")]
    lines = [f"complete -c isoscope -n __fish_use_subcommand -a '{' '.join(names)}'"]
    for path, some in words.items():
        condition = " and ".join(f"__fish_seen_subcommand_from {part}" for part in path.split())
        given = f" -n '{condition.replace(' and ', '; and ')}'" if path else ""
        lines += [f"complete -c isoscope{given} -l {word[2:]}" for word in some
                  if word.startswith("--")]  # fmt: skip
        below = [word for word in some if not word.startswith("-")]
        if path and below:
            lines.append(f"complete -c isoscope{given} -a '{' '.join(below)}'")
    return "\n".join(lines)

"""The help of commands: what a command takes, in panels, a line or two for each option.

The help fits 80 columns and no panel has boxes around it, so that it can be read, searched and
pasted like any other text.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import textwrap
from typing import Any, Literal, get_args, get_origin

from isoscope.wording import command_lines

# Panels in their order.
COMPUTE, INPUT, MODELS, SEARCH, OUTPUT, SCALE = (
    "What to compute", "Input", "Models", "Search", "Output", "Scale",
)  # fmt: skip
PANELS = (COMPUTE, INPUT, MODELS, SEARCH, OUTPUT, SCALE)

# Panels of options that several commands have; others are about what is computed.
PANEL_OF = {
    INPUT: (
        "column", "column_b", "drop_invalid", "documents", "document", "ids", "words", "data",
        "vocabulary", "lowercase", "prefix", "sample", "second", "text", "queries",
        "same_rows", "sample_texts", "fit_on",
    ),
    MODELS: (
        "layer", "layer_b", "layers", "pooling", "prompt", "query_prompt", "special_tokens",
        "dtype", "device", "longest", "revision", "revisions", "every", "keep", "subwords",
        "padding_rows", "max_norm_multiple", "skip_first", "budget", "correct_at", "probe",
        "epochs",
    ),
    SEARCH: ("neighbours", "reduce", "neighbour_sample", "k", "centres", "store_size"),
    OUTPUT: (
        "out", "save", "as_json", "html", "figures", "details", "ascii", "fail_if", "progress",
        "quiet", "map_file", "debug", "ascii_only", "pages", "records",
    ),
    SCALE: (
        "engine", "workers", "on_error", "shard_rows", "shard_texts", "resume", "cache", "spool",
        "group", "max_memory", "timeout", "seed",
    ),
}  # fmt: skip

# What is written for the value of an option, where its name does not say it.
VALUES = {
    "measures": "NAMES", "corrections": "NAMES", "tasks": "NAMES", "layers": "NAMES",
    "isotropy": "NAMES", "column": "NAME", "column_b": "NAME", "layer": "NAME", "layer_b": "NAME",
    "out": "FILE", "save": "FILE", "html": "FILE", "figures": "FOLDER", "data": "FOLDER",
    "pairs": "FILE", "text": "FILE", "queries": "FILE", "second": "FILE", "fit_on": "FILE",
    "cache": "FOLDER", "vocabulary": "FILE", "map_file": "FILE", "at": "COSINES", "ids": "LABEL",
    "pages": "FOLDER", "records": "FOLDER", "results": "FOLDER",
    "words": "LABEL", "retrieval": "FOLDER", "task": "NAME", "correction": "FILE",
}  # fmt: skip

COLUMNS, LONGEST_NAME = 80, 24

HEADING = re.compile(r"^Examples?: *")


def help_text(command: Any, context: Any) -> str:
    """Return the help of a command."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    commands = getattr(command, "commands", {})
    usage = [context.command_path, *(name_of(one) for one in arguments)]
    usage += ["COMMAND"] if commands else []
    lines = [f"{bold('Usage:')} {' '.join(usage)} [OPTIONS]", ""]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines += [*wrapped(" ".join(paragraph.split()), COLUMNS), ""]
    if arguments:
        lines += [*entries([(name_of(one), one.help or "") for one in arguments], 0), ""]
    panels: dict[str, list[tuple[str, str]]] = {}
    for name, one in commands.items():
        heading = getattr(one, "rich_help_panel", None)
        heading = heading if isinstance(heading, str) else "Commands"
        panels.setdefault(heading, []).append((name, summary_of(one)))
    order = [*panels, *PANELS]
    for one in options:
        if not one.hidden and one.name != "help":
            panels.setdefault(panel_of(one), []).append((spelled(one), described(one)))
    for panel in dict.fromkeys(order):
        if panel in panels:
            lines += [bold(panel), *entries(panels[panel], 2)]
    return "\n".join([*lines, *examples(command.epilog or "")]).rstrip()


def summary_of(command: Any) -> str:
    """Return the first sentence of a command's help."""
    text = " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
    return text.removesuffix(".")


def panel_of(option: Any) -> str:
    """Return the panel of an option."""
    for panel, names in PANEL_OF.items():
        if option.name in names:
            return panel
    return OUTPUT if option.name == "version" else COMPUTE


def name_of(argument: Any) -> str:
    """Return what the usage calls an argument."""
    return str(argument.metavar or argument.name).upper()


def spelled(option: Any) -> str:
    """Return an option as it is written, with its value."""
    names = "/".join([*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return names
    return f"{names} {value_of(option)}"


def value_of(option: Any) -> str:
    """Return what stands for the value of an option."""
    if option.metavar:
        return str(option.metavar)
    annotation = getattr(getattr(option, "type_descriptor", None), "annotation", str)
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    kinds = {int: "N", float: "NUMBER"}
    return kinds.get(annotation) or VALUES.get(option.name, "TEXT" if annotation is str else "FILE")


def described(option: Any) -> str:
    """Return what is said of an option, with its default unless the text names one."""
    text = (option.help or "").strip().removesuffix(".")
    default = option.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    if option.required:
        return f"{text} [required]"
    if option.secondary_opts and isinstance(default, bool):
        return f"{text} [default: {(option.opts if default else option.secondary_opts)[0]}]"
    if plain and default != "" and "efault:" not in text:
        return f"{text} [default: {default}]"
    return text


def entries(rows: list[tuple[str, str]], indent: int) -> list[str]:
    """Write names beside texts; a long name has a line of its own."""
    column = min(max(len(name) for name, _ in rows), LONGEST_NAME) + 2
    room = COLUMNS - indent - column
    lines = []
    for name, text in rows:
        broken = wrapped(text, room)
        if len(name) > column - 2:
            lines.append(" " * indent + name)
        else:
            lines.append((" " * indent + name.ljust(column) + broken.pop(0)).rstrip())
        lines += [" " * (indent + column) + line for line in broken]
    return lines


def examples(epilog: str) -> list[str]:
    """Write the examples, at most two, under a heading."""
    found = [HEADING.sub("", line.strip()) for line in epilog.splitlines() if "isoscope " in line]
    if not found:
        return []
    lines = [bold("Examples" if len(found) > 1 else "Example")]
    for one in found[:2]:
        whole = len(one) + 2 <= COLUMNS
        first, *rest = [one] if whole else command_lines(one, COLUMNS - 4)
        lines += [f"  {first}", *(f"    {piece}" for piece in rest)]
    return lines


def wrapped(text: str, room: int) -> list[str]:
    """Break a text into lines at spaces; the names of options stay whole."""
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]


def bold(text: str) -> str:
    """Return text in bold on a terminal that shows colours."""
    shown = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[1m{text}\x1b[0m" if shown else text

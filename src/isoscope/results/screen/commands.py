"""Commands to paste that continue where a result ends, on the same source."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from isoscope.results.result import Result
from isoscope.results.screen.blocks import Fact

# Options of any command that have no value.
FLAGS = frozenset(
    f"--{name}"
    for name in (
        "json", "details", "ascii", "quiet", "debug", "resume", "drop-invalid", "neighbours",
        "intervals", "no-intervals", "same-rows", "other-rows", "flow", "transductive", "relate",
        "epochs", "lowercase", "special-tokens", "no-special-tokens", "cache", "no-cache",
        "padding-rows", "no-padding-rows", "keep-norms",
    )
) | {"-q"}  # fmt: skip

# Options that say which vectors or texts are meant, and belong to every command about them.
ABOUT_THE_SOURCE = ("--column", "--queries", "--layer", "--text", "--prompt", "--pooling")

SOURCE = "SOURCE"


def given(command: str) -> tuple[list[str], dict[str, str]]:
    """Return what a command was given by place, and its options with values.

    Nothing is known of the result of a call in Python, which has no command.
    """
    words = shlex.split(command) if command.startswith("isoscope ") else []
    places: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words[2:])
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            places.append(word)
        elif word in FLAGS:
            options[word] = ""
        elif equals:
            options[name] = value
        else:
            options[word] = next(rest, "")
    return places, options


def next_step(
    result: Result,
    verb: str,
    *more: str,
    remark: str = "",
    keep: Iterable[str] = ABOUT_THE_SOURCE,
    label: str = "Next",
) -> Fact:
    """Return a command on the source of a result.

    Parameters
    ----------
    result : Result
        What was found.
    verb : str
        The verb of the command.
    *more : str
        What follows the source.
    remark : str
        What the command answers.
    keep : iterable of str
        Options of the first command that the second one has as well.
    label : str
        What stands before the command.
    """
    places, options = given(result.command)
    kept = [word for name in keep if options.get(name) for word in (name, options[name])]
    words = [
        "isoscope",
        *verb.split(),
        *(map(quoted, places or [SOURCE])),
        *map(quoted, kept),
        *more,
    ]
    return Fact(label, " ".join(words), remark, command=True)


def quoted(word: str) -> str:
    """Quote a word for a shell, unless it is one that the reader replaces."""
    return word if word == SOURCE else shlex.quote(word)

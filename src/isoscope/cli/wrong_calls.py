"""Wrong calls in our words: what the parser of the command line says is for people who know it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

# What the parser says of a value, and what we say; groups are what it names.
VALUES = (
    (re.compile(r"greater than or equal to (\S+)"), "must be at least {0}"),
    (re.compile(r"less than or equal to (\S+)"), "must be at most {0}"),
    (re.compile(r"greater than (\S+)"), "must be above {0}"),
    (re.compile(r"less than (\S+)"), "must be below {0}"),
    (re.compile(r"valid integer"), "takes a whole number"),
    (re.compile(r"valid number"), "takes a number"),
)  # fmt: skip
CHOICE = re.compile(r"'(?P<given>[^']*)' is not one of (?P<known>.*?)\.?$")
INVALID = re.compile(r"Invalid value for '(?P<name>[^']+)': (?P<why>.*)", re.DOTALL)
MISSING = re.compile(r"Missing (?P<kind>argument|option) '(?P<name>[^']+)'")
NO_VALUE = re.compile(r"Option '(?P<name>[^']+)' requires an argument")
NO_COMMAND = re.compile(r"No such command '(?P<name>[^']+)'")
EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((?P<names>.*)\)")


def in_our_words(error: Exception, message: str, words: Sequence[str]) -> str:
    """Return what is wrong with a call, and how to put it right, in a line.

    Parameters
    ----------
    error : Exception
        What the parser raised.
    message : str
        What it says.
    words : sequence of str
        The words of the command line, without the program.
    """
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        return unknown_option(str(error.option_name), error.possibilities or ())
    if found := INVALID.match(message):
        return wrong_value(found["name"], found["why"], given(found["name"], words), message)
    if found := MISSING.match(message):
        name = found["name"] if found["kind"] == "option" else found["name"].upper()
        return f"{name} is missing; for examples, see {help_of(error, words)}"
    if found := NO_VALUE.match(message):
        return f"{found['name']} needs a value; for examples, see {help_of(error, words)}"
    if found := NO_COMMAND.match(message):
        group = getattr(getattr(error, "ctx", None), "command", None)
        return unknown_command(found["name"], list(getattr(group, "commands", ())), error)
    if found := EXTRA.match(message):
        return (
            f"unexpected argument: {found['names']}; several files are given as one pattern in "
            "quotes, such as 'part-*.npy'"
        )
    return message


def unknown_option(name: str, known: Sequence[str]) -> str:
    """Return the nearest option; dashes, which all have, make none of them near."""
    bare = {one.lstrip("-"): one for one in known}
    near = difflib.get_close_matches(name.lstrip("-"), bare, n=1)
    hint = f"did you mean {bare[near[0]]}?" if near else "--help lists all"
    return f"unknown option '{name}'; {hint}"


def unknown_command(name: str, known: Sequence[str], error: Exception) -> str:
    """Return the nearest command of a group."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"{help_of(error)} lists all"
    return f"no command is called '{name}'; {hint}"


def wrong_value(name: str, why: str, value: str, message: str) -> str:
    """Return what values an option takes, and which it got."""
    if found := CHOICE.search(why):
        known = [one.strip().strip("'") for one in found["known"].split(",")]
        near = difflib.get_close_matches(found["given"], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        listed = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]
        return f"{name} must be {listed}, got '{found['given']}'{hint}"
    for pattern, words in VALUES:
        if found := pattern.search(why):
            return f"{name} {words.format(*found.groups())}, got {value or 'something else'}"
    return message


def given(name: str, words: Sequence[str]) -> str:
    """Return the value that an option has on the command line."""
    for number, word in enumerate(words):
        if word == name:
            return words[number + 1] if number + 1 < len(words) else ""
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def help_of(error: Exception, words: Sequence[str] = ()) -> str:
    """Return the command that prints the help; some errors do not say which command was called."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "") or " ".join(["isoscope", *words[:1]])
    return f"{path} --help"

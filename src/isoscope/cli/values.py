"""Values of options that need no conversion, or an obvious one.

typer converts every value with a pydantic adapter, also one that was not given, and pydantic takes
longer to import than all else that a command needs before it starts. What is obvious is done here:
values of the declared type, texts, paths, words from a list, and plain numbers, also those that are
wrong. typer still has everything else.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer import BadParameter

# How numbers are written; typer also knows other ways.
PATTERNS = {int: re.compile("-?[0-9]{1,18}"), float: re.compile(r"-?[0-9]+(\.[0-9]+)?")}

# Returned for a value that typer has to convert.
UNCLEAR = object()


def converted(value: Any, kind: Any, least: float | None, most: float | None) -> Any:
    """Return a value as an option of some type takes it, or ``UNCLEAR``.

    Parameters
    ----------
    value : object
        What the command line or the environment says, or a default.
    kind : type
        The declared type, without ``None``.
    least, most : float or None
        Bounds of a number.

    Examples
    --------
    >>> converted("10", int, 2, None), converted("1", int, 2, None) is UNCLEAR
    (10, True)
    """
    if get_origin(kind) is list:
        (of,) = get_args(kind)
        if not isinstance(value, list | tuple):
            return UNCLEAR
        items = [converted(item, of, least, most) for item in value]
        return UNCLEAR if UNCLEAR in items else items
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else UNCLEAR
    if kind in (int, float):
        if isinstance(value, str) and PATTERNS[kind].fullmatch(value):
            value = kind(value)
        inside = type(value) is kind and (least is None or value >= least)
        return value if inside and (most is None or value <= most) else UNCLEAR
    if kind is Path and isinstance(value, str):
        hidden = os.access(value, os.F_OK) and not os.access(value, os.R_OK)
        return UNCLEAR if hidden else Path(value)  # typer refuses files that cannot be read
    return value if isinstance(kind, type) and isinstance(value, kind) else UNCLEAR


PARSER = "Input should"
"""How the parser begins to say what is wrong; people read what ``wrong_calls`` makes of it."""


def fault(value: Any, kind: Any, least: float | None, most: float | None) -> str:
    """Return what typer would say of a value that is plainly wrong; nothing where it may not be."""
    if not isinstance(value, str):
        return ""
    if get_origin(kind) is Literal:
        return f"Value error, {value!r} is not one of {', '.join(map(repr, get_args(kind)))}."
    if kind not in PATTERNS:
        return ""
    if PATTERNS[kind].fullmatch(value):
        if least is not None and kind(value) < least:
            return f"{PARSER} be greater than or equal to {least}"
        return "" if most is None else f"{PARSER} be less than or equal to {most}"
    if not value.isalpha() or value.lower() in ("nan", "inf", "infinity"):
        return ""
    name, written = ("integer", "an integer") if kind is int else ("number", "a number")
    return f"{PARSER} be a valid {name}, unable to parse string as {written}"


class Value:
    """How one option or argument of a command gets its value."""

    def __init__(self, option: Any) -> None:
        self._theirs = option.get_runtime_param
        self._kind = option.type_descriptor.annotation
        settings = option.type_descriptor.parameter_info
        self._least, self._most = settings.min, settings.max
        # Whose values are not taken as they stand.
        self._plain = settings.parser is None and not settings.clamp

    def found(self) -> Value:
        """Return itself, where typer looks for what converts the values of an option."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value as the command takes it; the arguments are those of typer."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        bounds = self._least, self._most
        found = converted(value, self._kind, *bounds) if self._plain else UNCLEAR
        if found is not UNCLEAR:
            return found
        wrong = fault(value, self._kind, *bounds) if self._plain else ""
        if wrong:
            raise BadParameter(wrong, ctx=ctx, param=param)
        return self._theirs().coerce(value, param=param, ctx=ctx)


def with_plain_values(options: list[Any]) -> list[Any]:
    """Let options and arguments take obvious values without pydantic."""
    for option in options:
        if "get_runtime_param" not in vars(option):
            option.get_runtime_param = Value(option).found
    return options


def use_plain_values(command: Any) -> Any:
    """Let a command, and all commands below it, take obvious values without pydantic."""
    theirs = command.get_params
    command.get_params = lambda context: with_plain_values(theirs(context))
    for one in getattr(command, "commands", {}).values():
        use_plain_values(one)
    return command

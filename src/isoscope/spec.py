"""Things that people name with options: ``name:option=value:option=value``.

Corrections, measures and calibrations are written this way on the command line and in results. A
list of numbers is written ``127+223+319``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

WORDS = {"none": None, "true": True, "false": False}


def split_options(
    name: str, pairs: Iterable[str], allowed: Collection[str], what: str = ""
) -> dict[str, str]:
    """Take every ``option=value`` apart, and refuse options that the named thing does not have.

    With ``what``, which an error then speaks of, an option needs a value too.

    Examples
    --------
    >>> split_options("whiten", ["kind=zca"], ("kind", "n_components"))
    {'kind': 'zca'}
    """
    options = {}
    for pair in pairs:
        option, _, value = pair.partition("=")
        if option not in allowed:
            raise unknown_name(f"option of {name}", option, allowed)
        if what and not value:
            raise UsageError(f"{what}: write {option}=VALUE")
        options[option] = value
    return options


def chosen_options(
    what: str, name: str, pairs: Iterable[str], allowed: Collection[str]
) -> dict[str, Any]:
    """Take options apart, each value read as a number, a list, a truth value, None or a word."""
    options = split_options(name, pairs, allowed, what)
    return {option: parsed(value) for option, value in options.items()}


def with_options(name: str, options: Mapping[str, Any]) -> str:
    """Write a name with options as ``chosen_options`` takes them apart.

    Examples
    --------
    >>> with_options("clip", {"dimensions": [127, 223], "renormalize": True})
    'clip:dimensions=127+223:renormalize=true'
    """
    return ":".join((name, *(f"{option}={as_text(value)}" for option, value in options.items())))


def as_text(value: Any) -> str:
    """Write one option as ``parsed`` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return str(value)
    return "+".join(as_text(item) for item in value)


def parsed(value: str) -> Any:
    """Turn the text of an option into a number, a list of numbers, a truth value or None."""
    if value in WORDS:
        return WORDS[value]
    if "+" in value.strip("+"):
        parts = [parsed(part) for part in value.split("+")]
        return parts if all(isinstance(part, int) for part in parts) else value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value

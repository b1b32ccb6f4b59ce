"""Rows of a result as a claim sees them: which ones it names, and what they are of."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from isoscope.results.result import Row
from isoscope.verbs.study.judgement.evidence import ROUNDING, is_known
from isoscope.verbs.study.judgement.scope import goes_by

if TYPE_CHECKING:
    from isoscope.results.result import Result

Operator = Literal[">", ">=", "<", "<=", "within"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
WITHIN = "within"

# Subject of a figure over models, such as a correlation; it is no model itself.
ALL_MODELS = "all models"

FIELDS = ("subject", "part", "correction", "measure")


def subjects_of(result: Result) -> list[str]:
    """Return the models of a result; a figure over all of them is of none."""
    names = dict.fromkeys(row.subject for row in result.rows)
    return [name for name in names if name not in ("", ALL_MODELS)]


def row_key(row: Row) -> tuple[str, ...]:
    """Return what a row is of."""
    return row.subject, row.part, row.correction, row.measure


def negated(row: Row) -> Row:
    """Return a difference the other way round."""
    assert row.value is not None
    low, high = (None if end is None else -end for end in (row.high, row.low))
    return replace(row, value=-row.value, low=low, high=high)


def sign_range(row: Row) -> tuple[float, float] | None:
    """Return log10 of I1 over all choices of the signs of eigenvectors."""
    low, high = (row.extra.get(f"sign_{end}_log10") for end in ("low", "high"))
    return None if low is None or high is None else (float(low), float(high))


def point_range(row: Row) -> tuple[float, float] | None:
    """Return log10 of a figure as a range without width; None where it has no logarithm."""
    return (row.log10, row.log10) if is_known(row.log10) else None


def wide(ends: tuple[float, float]) -> bool:
    """Whether a range over signs is more than rounding."""
    return ends[1] - ends[0] > ROUNDING


def matches(row: Row, pattern: Mapping[str, str]) -> bool:
    """Whether every named field of a row fits its pattern, in any case."""
    return all(fits(getattr(row, name), wanted) for name, wanted in pattern.items())


def fits(text: str, wanted: str) -> bool:
    """Whether a text fits one of several patterns, or with ``!`` before them none."""
    is_not = wanted.startswith("!")
    patterns = wanted.removeprefix("!").casefold().split("|")
    return any(fnmatchcase(text.casefold(), pattern) for pattern in patterns) != is_not


def all_names(pattern: str, models: Iterable[str]) -> str:
    """Add to a pattern of names the other names of the models that it fits.

    Examples
    --------
    >>> all_names("!GPT-2", ["BERT|bert-base-uncased", "GPT-2|gpt2"])
    '!GPT-2|gpt2'
    """
    mark = "!" if pattern.startswith("!") else ""
    names = pattern.removeprefix("!").split("|")
    if names == ["*"]:
        return pattern
    others = [
        one
        for model in models
        if any(goes_by("|".join(names), known) for known in model.split("|"))
        for one in model.split("|")
    ]
    return mark + "|".join(dict.fromkeys([*names, *others]))


def in_words(pattern: str) -> str:
    """Return a pattern for a reader.

    Examples
    --------
    >>> in_words("!BERT|RoBERTa"), in_words("GPT-2")
    ('not BERT or RoBERTa', 'GPT-2')
    """
    return pattern.replace("!", "not ").replace("|", " or ")


def describe(row: Row) -> str:
    """Return what a figure is of, in a few words."""
    correction = f"({row.correction})" if row.correction else ""
    return " ".join(word for word in (what_of(row), correction) if word)


def what_of(row: Row) -> str:
    """Return part and measure, once where the measure begins with the part, as scores may."""
    if row.part and row.measure.startswith(f"{row.part}/"):
        return row.measure
    return " ".join(word for word in (row.part, row.measure) if word)


def compare(
    op: str, left: tuple[float | None, float | None], right: tuple[float | None, float | None]
) -> bool | None:
    """Compare two figures, given as value and log10; by logarithm where both have one.

    I1 may be below the smallest double: its value is then 0, its logarithm is not.
    """
    if not is_known(left[0]) or not is_known(right[0]):
        return None
    if is_known(left[1]) and is_known(right[1]):
        return bool(OPERATORS[op](left[1], right[1]))
    # A number of numpy's would compare to a truth value of numpy's, which is not True.
    return bool(OPERATORS[op](left[0], right[0]))

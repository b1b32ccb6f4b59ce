"""Every measure with what a reader must know before trusting it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from isoscope.errors import UsageError, cut
from isoscope.registry import Registry
from isoscope.spec import split_options
from isoscope.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.measures.space import Space
    from isoscope.typing import Vector


# What a measure needs beyond the sums over lengths.
#
# ``units`` is the sum over unit vectors, which ``dimensions`` brings too. ``variances`` are those
# of the dimensions, ``spectrum`` those along the eigenvectors of the covariance, and ``scatter``
# stands for the eigenvectors themselves, with the mean and without.
Need = Literal[
    "units", "mean", "dimensions", "variances", "sample", "large sample", "spectrum", "scatter",
    "partition", "scaled", "clusters",
]  # fmt: skip

# Which way a more evenly filled space moves the measure.
Direction = Literal["higher", "lower", "neither"]


# Where an interval comes from: leaving out blocks of sums over rows, or of the variances along
# eigenvectors; or the measure gives its own.
IntervalKind = Literal["sums", "spectrum", "own"]


@dataclass(frozen=True)
class Value:
    """One number; None where it is undefined, with a note that says why."""

    value: float | None
    log10: float | None = None
    note: str = ""
    rows: int | None = None
    """Rows that counted, where not all did."""
    extra: Mapping[str, float | None] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    no_interval: str = ""
    """Why a measure that gives its own interval could not."""


@dataclass(frozen=True)
class TableValue:
    """Several numbers per row; ``rows`` are dictionaries with the same keys."""

    rows: list[dict[str, Any]]
    note: str = ""


# Largest bias, in errors, that is taken out of an interval.
LARGEST_BIAS = 1.0


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure and its description.

    ``function`` maps a ``Space`` to a ``Value``, to several under names of their own, or to a
    ``TableValue`` for tables.
    """

    name: str
    formula: str
    reference: str
    function: Callable[..., Value | Mapping[str, Value] | TableValue]
    range: str = ""
    direction: Direction = "neither"
    length_dependent: bool = False
    table: bool = False
    needs: Collection[Need] = ()
    alias: str = ""
    interval: IntervalKind | None = None
    no_interval: str = ""
    """Why there is no interval, for a measure without one."""
    bias: Callable[[Vector], float] | None = None
    """n times the bias for shares p of the variance; where it is None the blocks tell."""
    largest_bias: float = LARGEST_BIAS
    default: bool = True
    """Whether it is measured unless others are named."""
    options: Mapping[str, int] = field(default_factory=dict)
    """Whole numbers, 1 or more, that ``name:option=value`` sets, with their defaults."""
    text: str = ""
    """The name with its options as it was asked for."""
    title: str = ""
    """What tables for people call it."""
    symbol: str = ""
    """The sign that papers have for it, if any."""
    when: str = ""
    """When to look at it, in half a line."""

    def of(self, space: Space) -> Value | Mapping[str, Value] | TableValue:
        """Take the measure of a space."""
        return self.function(space, **self.options)

    @property
    def summary(self) -> str:
        """What it tells, in a sentence."""
        return summary_of(self.function)


_MEASURES = Registry[Measure]("measure", "isoscope.measures.families")


KEYS = "Title|Symbol|When|Formula|Range|Reference"
DOCUMENTED = re.compile(rf"^({KEYS}): (.+?)(?=\n\n|\n(?:{KEYS}): |\Z)", re.M | re.S)


def documented(function: Callable[..., Any]) -> dict[str, Any]:
    """Return title, formula, range and the like of a measure from its function's docstring."""
    found = DOCUMENTED.findall(inspect.getdoc(function) or "")
    return {key.lower(): " ".join(text.split()) for key, text in found}


def summary_of(function: Callable[..., Any]) -> str:
    """Return what a measure tells, in a sentence: the first line of its function's docstring."""
    return (function.__doc__ or "").strip().splitlines()[0]


def register(**description: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the measure of its own name.

    What it tells, its title, formula, range and reference are written once, in its docstring: the
    first line, and what stands behind ``Title:``, ``Symbol:``, ``When:``, ``Formula:``, ``Range:``
    and ``Reference:``. Everything else that a ``Measure`` has is given here.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        written = {**documented(function), **description}
        measure = Measure(name=name, function=function, text=name, **written)
        _MEASURES.register(name, measure, measure.alias)
        return function

    return decorate


def all_measures() -> tuple[Measure, ...]:
    """Return every measure in the order in which tables show them: cosines first."""
    return _MEASURES.values()


def default_measures() -> tuple[Measure, ...]:
    """Return the measures that are taken unless others are named."""
    return tuple(item for item in _MEASURES.values() if item.default)


def find_measure(name: str) -> Measure:
    """Return a measure by its name or alias, with options set as in ``name:option=value``."""
    wanted, *pairs = name.strip().lower().split(":")
    found = _MEASURES.get(wanted)
    if found is None:
        raise _MEASURES.unknown(name)
    wanted = found.name
    if not pairs:
        return found
    options = dict(found.options)
    for pair in pairs:
        ((option, value),) = split_options(wanted, [pair], options).items()
        if not value.isdecimal() or int(value) < 1:
            raise UsageError(
                f"measure {cut(name)!r}: {option} must be a whole number of at least 1"
            )
        options[option] = int(value)
    return replace(found, options=options, text=":".join((wanted, *pairs)))


# Stands for every measure, in place of names.
ALL = "all"


def choose_measures(given: Iterable[str] | str | None) -> tuple[Measure, ...]:
    """Look the names up, without repeats, in the order of the registry."""
    everything = all_measures()
    names = listed(given, [item.name for item in default_measures()])
    if ALL in names:
        return everything
    wanted = {item.text: item for item in map(find_measure, names)}
    if not wanted:
        raise UsageError("name at least one measure; isoscope list measures shows them")
    order = [item.name for item in everything]
    return tuple(sorted(wanted.values(), key=lambda item: order.index(item.name)))

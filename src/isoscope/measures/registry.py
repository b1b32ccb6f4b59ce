"""Every measure with what a reader must know before trusting it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.measures.space import Space

Need = Literal[
    "mean", "dimensions", "sample", "large sample", "scatter", "partition", "scaled", "clusters"
]
"""What a measure needs beyond the sums over lengths and unit vectors."""

Direction = Literal["higher", "lower", "neither"]
"""Which way a more evenly filled space moves the measure."""


def counted(number: int, thing: str) -> str:
    """Return a number with its thing, in the plural where it takes one."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


IntervalKind = Literal["sums", "spectrum", "own"]
"""Where an interval comes from: leaving out blocks of sums over rows, or of the variances along
eigenvectors; or the measure gives its own."""


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


@dataclass(frozen=True)
class Measure:
    """A measure and its description.

    ``function`` maps a ``Space`` to a ``Value``, to several under names of their own, or to a
    ``TableValue`` for tables.
    """

    name: str
    formula: str
    range: str
    direction: Direction
    length_dependent: bool
    reference: str
    needs: frozenset[Need]
    function: Callable[..., Value | Mapping[str, Value] | TableValue]
    alias: str = ""
    table: bool = False
    interval: IntervalKind | None = None
    no_interval: str = ""
    """Why there is no interval, for a measure without one."""
    default: bool = True
    """Whether it is measured unless others are named."""
    options: Mapping[str, int] = field(default_factory=dict)
    """Whole numbers, 1 or more, that ``name:option=value`` sets, with their defaults."""
    text: str = ""
    """The name with its options as it was asked for."""

    def of(self, space: Space) -> Value | Mapping[str, Value] | TableValue:
        """Take the measure of a space."""
        return self.function(space, **self.options)

    @property
    def summary(self) -> str:
        """What it tells, in a sentence: the first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


_MEASURES: dict[str, Measure] = {}
_ALIASES: dict[str, str] = {}


def register(
    *,
    formula: str,
    range: str,  # noqa: A002  the word that readers of the list expect
    direction: Direction,
    length_dependent: bool,
    reference: str,
    needs: Iterable[Need] = (),
    alias: str = "",
    table: bool = False,
    interval: IntervalKind | None = None,
    no_interval: str = "",
    default: bool = True,
    options: Mapping[str, int] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the measure of its own name."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        if name in _MEASURES or name in _ALIASES or alias in _MEASURES or alias in _ALIASES:
            raise ValueError(f"the measure {name} is registered twice")
        _MEASURES[name] = Measure(
            name, formula, range, direction, length_dependent, reference,
            frozenset(needs), function, alias, table, interval, no_interval, default,
            options or {}, name,
        )  # fmt: skip
        if alias:
            _ALIASES[alias] = name
        return function

    return decorate


def all_measures() -> tuple[Measure, ...]:
    """Return every measure in the order in which tables show them: cosines first."""
    return tuple(_MEASURES.values())


def default_measures() -> tuple[Measure, ...]:
    """Return the measures that are taken unless others are named."""
    return tuple(item for item in _MEASURES.values() if item.default)


def find_measure(name: str) -> Measure:
    """Return a measure by its name or alias, with options set as in ``name:option=value``."""
    wanted, *pairs = name.strip().lower().split(":")
    wanted = _ALIASES.get(wanted, wanted)
    if wanted not in _MEASURES:
        raise unknown_name("measure", name, [*_MEASURES, *_ALIASES])
    found = _MEASURES[wanted]
    if not pairs:
        return found
    options = dict(found.options)
    for pair in pairs:
        option, _, value = pair.partition("=")
        if option not in options:
            raise unknown_name(f"option of {wanted}", option, options)
        if not value.isdecimal() or int(value) < 1:
            raise UsageError(f"measure {name!r}: {option} is a whole number from 1")
        options[option] = int(value)
    return replace(found, options=options, text=":".join((wanted, *pairs)))

"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from isoscope.results.result import Estimated, Row

# How a number is written: a format such as ``.4f``, or a function.
Format: TypeAlias = str | Callable[[float], str]

UNDEFINED = "undefined"

SMALLEST_SHOWN = 1e-4

# Intervals shorter than this share of their value are rounding, as for lengths that are all 1.
SMALLEST_REACH = 1e-7


def cell(row: Row | None, *, error: bool = False) -> str:
    """Return a number as a person reads it, tiny ones by their power of ten, or with its error."""
    if row is None:
        return ""
    if row.value is None or not math.isfinite(row.value):
        return UNDEFINED
    if "unit" in row.extra:
        return with_interval(row, ".4f")
    # I1 of a large space may be below the smallest float: its logarithm is known all the same.
    if row.log10 is not None and abs(row.value) < SMALLEST_SHOWN:
        return f"10^{row.log10:.4f}" if row.log10 > -100 else f"10^{row.log10:.1f}"
    if row.value == 0:
        return "0"
    if abs(row.value) < SMALLEST_SHOWN or abs(row.value) >= 1e6:
        return f"{row.value:.2e}"
    # Cosines and shares need four digits behind the point; ranks and lengths above 100 do not.
    digits = 4 if abs(row.value) < 100 else 1
    return f"{row.value:.{digits}f}{plus_minus(row) if error else ''}"


def plus_minus(row: Row) -> str:
    """Return the longer side of the interval, to two digits."""
    if row.value is None or row.low is None or row.high is None:
        return ""
    reach = max(row.high - row.value, row.value - row.low)
    if reach <= SMALLEST_REACH * abs(row.value):
        return ""
    # The second significant digit of the reach, but no more than the four that values have.
    digits = min(max(1 - math.floor(math.log10(reach)), 0), 4)
    return f" ±{reach:.{digits}f}" if reach >= SMALLEST_SHOWN else f" ±{reach:.0e}"


def with_interval(
    found: Estimated | None,
    digits: Format,
    ends: Format | None = None,
    *,
    to: str = " to ",
    undefined: str = UNDEFINED,
) -> str:
    """Return a number with its interval behind it, such as ``0.8123 (0.7900 to 0.8301)``.

    Parameters
    ----------
    found : Row, Estimate or None
        Anything with ``value``, ``low`` and ``high``; None gives an empty cell.
    digits : str or callable
        How the number is written.
    ends : str or callable, optional
        How the ends of the interval are written; by default as the number.
    to : str
        What stands between the ends.
    undefined : str
        What stands for a number that is undefined.
    """
    if found is None:
        return ""
    if found.value is None:
        return undefined
    text = written(found.value, digits)
    if found.low is None or found.high is None:
        return text
    low, high = (written(end, ends or digits) for end in (found.low, found.high))
    return f"{text} ({low}{to}{high})"


def written(value: float, digits: Format) -> str:
    """Return a number in a format."""
    return f"{value:{digits}}" if isinstance(digits, str) else digits(value)


def shown(value: float | int | str | None) -> str:
    """Return a number with four digits, a whole one with all of them; text stays as it is."""
    if value is None:
        return UNDEFINED
    if isinstance(value, str):
        return value
    if isinstance(value, int) or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}"


# Smaller numbers are shown with their power of ten.
SMALLEST = 1e-3


def with_spread(value: float, spread: float | None, digits: str = "") -> str:
    """Return a number with its deviation, such as ``0.8123 ± 0.0101``.

    Without a format, both have four digits behind the point, and two in all where the number is
    tiny.
    """
    digits = digits or (".1e" if 0 < abs(value) < SMALLEST else ".4f")
    return f"{value:{digits}}" + ("" if spread is None else f" ± {spread:{digits}}")


UNKNOWN = "–"


def brief(row: Row | None) -> str:
    """Return a number as a sentence or a small table has it: two digits behind the point at most.

    Examples
    --------
    >>> brief(Row("", "", "none", "mean_cosine", 0.8013))
    '0.80'
    >>> brief(Row("", "", "none", "effective_rank", 1234.56))
    '1,235'
    """
    if row is None:
        return ""
    if row.value is None or not math.isfinite(row.value):
        return UNKNOWN
    if row.log10 is not None and 0 < abs(row.value) < SMALLEST_SHOWN:
        return f"10^{row.log10:.0f}"
    return rounded(row.value)


def rounded(value: float) -> str:
    """Return a number with two digits behind the point, fewer where it is large."""
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    text = f"{value:,.{digits}f}" if abs(value) < 1e7 else f"{value:.1e}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def in_percent(share: float) -> str:
    """Return a share in percent, with two digits that count where it is small.

    Examples
    --------
    >>> in_percent(0.0346), in_percent(0.5), in_percent(0.00012)
    ('3.5 %', '50 %', '0.012 %')
    """
    percent = 100 * share
    if percent >= 10 or percent == 0:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"

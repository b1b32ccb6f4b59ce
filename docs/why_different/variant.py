"""What a line of the page says."""

from __future__ import annotations

from typing import NamedTuple


class Measured(NamedTuple):
    """A number of isoscope: of a cloud (code), a measure and a correction."""

    measure: str
    correction: str = "none"
    cloud: str = "X"
    field: str = "value"


class Variant(NamedTuple):
    """Another way to the same quantity."""

    what: str
    code: str
    beside: Measured
    where: str = ""


class Corrected(NamedTuple):
    """A cloud that somebody's code makes; isoscope measures it."""

    what: str
    code: str
    option: str
    """The correction of isoscope that gives the same, if any."""

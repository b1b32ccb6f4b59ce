"""Every kind of figure, in the order in which a page shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.report.figures.spectrum import spectrum_figures

if TYPE_CHECKING:
    from isoscope.report.figure import Figure, Maker
    from isoscope.results.result import Result

MAKERS: tuple[Maker, ...] = (spectrum_figures,)


def figures_of(result: Result) -> list[Figure]:
    """Draw all that a result has data for; names of files are told apart."""
    found: list[Figure] = []
    taken: dict[str, int] = {}
    for figure in (one for make in MAKERS for one in make(result)):
        taken[figure.name] = taken.get(figure.name, 0) + 1
        number = taken[figure.name]
        found.append(figure if number == 1 else replace(figure, name=f"{figure.name}-{number}"))
    return found

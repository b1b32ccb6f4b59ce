"""Rank correlations of isotropy and score, by what is compared with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import (
    Point,
    dots,
    finite,
    first_series,
    left_words,
    point,
    with_interval,
)
from isoscope.results.related import ISOTROPY, SCORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row


def correlation_figure(rows: Sequence[Row]) -> list[Figure]:
    """Draw rank correlations of isotropy and score, a panel for every question."""
    known = [
        point(str(row.extra[ISOTROPY]), str(row.extra[SCORE]), row.value, row.low, row.high,
              row.subject)
        for row in rows
        if finite(row.value) is not None
    ]  # fmt: skip
    scores = first_series(mark["series"] for mark in known)
    marks = [mark for mark in known if mark["series"] in scores]
    if not marks:
        return []
    titles = {
        "label": "measure of isotropy", "series": "score", "panel": "compared",
        "value": "rank correlation (above 0: more isotropic scores better)",
    }  # fmt: skip
    if len({mark["panel"] for mark in marks}) > 1:
        titles["value"] = "rank correlation"
    left = left_words(len(known) - len(marks), "correlation")
    undefined = len(rows) - len(known)
    left += f" {undefined:,} undefined." if undefined else ""
    return [
        Figure(
            file_name("isotropy-correlations"),
            "Does isotropy go with better scores?",
            "Rank correlations of isotropy and score with their intervals, a panel for every "
            "choice of what is compared. Above 0: the more isotropic a space, the better its "
            f"score. {correlation_words(known)}{left}",
            dots(marks, scores, titles, at=0.0, scale={"domain": [-1, 1]}),
            ["compared", "score", "measure", "rank correlation", "low", "high"],
            [
                [
                    mark["panel"], mark["series"], mark["label"], shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                ]
                for mark in known
            ],
        )
    ]  # fmt: skip


def correlation_words(marks: Sequence[Point]) -> str:
    """Say for every question how many intervals leave out 0, and the two ends."""
    said = []
    for question in dict.fromkeys(mark["panel"] for mark in marks):
        own = [mark for mark in marks if mark["panel"] == question]
        up = sum(mark["low"] is not None and mark["low"] > 0 for mark in own)
        down = sum(mark["high"] is not None and mark["high"] < 0 for mark in own)
        most = max(own, key=lambda mark: abs(float(mark["value"])))
        said.append(
            f"{question}: of {len(own)}, {up} above 0 with their whole interval and {down} below, "
            f"furthest from 0 {most['label']} with {most['series']}, {with_interval(most)}"
        )
    return "; ".join(said) + "."

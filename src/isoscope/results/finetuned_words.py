"""Fine-tuning in words: which calibrations are better or worse, how runs went, what they used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from isoscope.results.render import UNCORRECTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row

DIFFERENCE, RATIO = "/difference", "/ratio"
"""Ends of measures that compare a calibration with none."""

SMALLEST = 1e-3
"""Smaller numbers are shown with their power of ten."""


def task_notes(scores: Sequence[Row]) -> list[str]:
    """Say how tasks were learned and scored, then what is odd about runs."""
    protocols: dict[str, dict[str, None]] = {}
    odd: dict[str, dict[str, None]] = {}
    for row in scores:
        if row.protocol:
            protocols.setdefault(row.protocol, {})[row.part] = None
        if row.note:
            odd.setdefault(row.note, {})[f"{row.part} with {row.correction}"] = None
    return [f"{', '.join(names)}: {text}" for text, names in (*protocols.items(), *odd.items())]


def closing_words(scores: Sequence[Row], differences: Sequence[Row]) -> list[str]:
    """Say which calibrations are significantly better or worse, and which predict nothing."""
    if not differences:
        return []
    shown = {row.measure for row in scores}
    judged = [row for row in differences if row.measure.removesuffix(DIFFERENCE) in shown]
    tested = [row for row in judged if row.extra.get("p") is not None]
    better = where_said([row for row in tested if row.extra.get("star")])
    worse = where_said([row for row in tested if row.extra.get("worse")])
    constant = where_said(
        [row for row in scores if row.extra["constant"] and row.extra["constant"] == row.n]
    )
    if not tested:
        words = ["one run of each says nothing about chance"]
    elif not better:
        words = [f"no calibration is significantly better than {UNCORRECTED} on any task"]
    else:
        words = [f"significantly better than {UNCORRECTED}: {better}"]
    words += [f"significantly worse: {worse}"] if worse else []
    words += [f"the same prediction for everything in every run: {constant}"] if constant else []
    return [f"Verdict: {'; '.join(words)}."]


def where_said(rows: Sequence[Row]) -> str:
    """Name calibrations with the tasks of some rows."""
    tasks: dict[str, dict[str, None]] = {}
    for row in rows:
        tasks.setdefault(row.correction, {})[row.part] = None
    return ", ".join(f"{name} on {' and '.join(where)}" for name, where in tasks.items())


def option_notes(settings: Mapping[str, Any]) -> list[str]:
    """Say which options every calibration had, and on which tasks; settings are by task.

    Papers print none of them, so that a result must.
    """
    tasks: dict[str, dict[str, None]] = {}
    for task, used in settings.items():
        for calibration, options in used.get("calibrations", {}).items():
            if options:
                listed = ", ".join(f"{name} {value}" for name, value in options.items())
                tasks.setdefault(f"{calibration}: {listed}", {})[task] = None
    several = len(settings) > 1
    return [
        f"options of {text}" + (f" ({', '.join(where)})" if several else "")
        for text, where in tasks.items()
    ]


def with_spread(value: float, spread: float | None) -> str:
    """Return a number and its deviation with four digits behind the point, tiny ones with two."""
    digits = ".1e" if 0 < abs(value) < SMALLEST else ".4f"
    return f"{value:{digits}}" + ("" if spread is None else f" ± {spread:{digits}}")

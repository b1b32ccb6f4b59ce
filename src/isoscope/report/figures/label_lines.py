"""Labels of several lines beside a chart."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec

LINE_HEIGHT = 14
"""Pixels of a line of text."""

IN_LINES = {
    "labelExpr": "split(datum.label, '\\n')", "labelLimit": 0, "titleAngle": 0,
    "titleAlign": "right", "titleBaseline": "bottom", "titleX": -8, "titleY": -6,
}  # fmt: skip
"""An axis whose labels have several lines; its title stands above them, where it covers none."""


def in_lines(text: str, letters: int) -> str:
    """Break a label into lines, between words only."""
    lines = textwrap.wrap(text, letters, break_on_hyphens=False)
    return "\n".join(lines) or text


def step_for(labels: Sequence[str], between: int) -> Spec:
    """Return a height that has room for the label with most lines."""
    tallest = max(label.count("\n") + 1 for label in labels)
    return {"step": tallest * LINE_HEIGHT + between}

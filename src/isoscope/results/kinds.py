"""Which room shows a result: its tables, by the kind that the result names.

A room is known by name only and loaded when a result of its kind is shown, so that no package
on the left imports one on the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import load
from isoscope.results.fields import KIND, SCORES
from isoscope.results.result import Result, Table

if TYPE_CHECKING:
    from isoscope.results.screen.blocks import Screen
    from isoscope.results.tables import Grid


# Kind of a result that names none: numbers of clouds.
MEASURE = "measure"

# For every kind, the function that arranges a result of that kind in tables.
TABLES = {
    MEASURE: "isoscope.verbs.measure.text:measurement_grids",
    "explanation": "isoscope.verbs.explain.text:explanation_grids",
    "profile": "isoscope.verbs.profile.text:all_profile_grids",
    "advice": "isoscope.verbs.advise.text:advice_grids",
    "thresholds": "isoscope.verbs.threshold.text:threshold_grids",
    "difference of two clouds": "isoscope.verbs.diff.text:difference_grids",
    "fine-tuning": "isoscope.verbs.train.text:fine_tuning_grids",
    "ablation": "isoscope.verbs.train.text:ablation_grids",
    "pretraining": "isoscope.verbs.train.text:pretraining_grids",
    "scores": "isoscope.verbs.evaluate.text:score_grids",
    "relation": "isoscope.verbs.evaluate.text:relation_grids",
}

# For every kind that has one, the function that makes the screen of a result: the answer first.
SCREENS = {
    MEASURE: "isoscope.verbs.measure.screen:measure_screen",
    "advice": "isoscope.verbs.advise.screen:advice_screen",
    "thresholds": "isoscope.verbs.threshold.screen:threshold_screen",
    "difference of two clouds": "isoscope.verbs.diff.screen:difference_screen",
    "profile": "isoscope.verbs.profile.screen:profile_screen",
    SCORES: "isoscope.verbs.evaluate.screen:score_screen",
    "relation": "isoscope.verbs.evaluate.screen:relation_screen",
    "explanation": "isoscope.verbs.explain.screen:explanation_screen",
    "fine-tuning": "isoscope.verbs.train.screen:fine_tuning_screen",
    "pretraining": "isoscope.verbs.train.screen:pretraining_screen",
    "ablation": "isoscope.verbs.train.screen:ablation_screen",
}

# For kinds with many structured measures, the function that chooses which of them are shown.
TELLING_TABLES = {"profile": "isoscope.verbs.profile.text:telling_tables"}


def kind_of(result: Result) -> str:
    """Return the kind of a result; a kind that is not known is shown as numbers of clouds."""
    kind = result.extra.get(KIND)
    return kind if isinstance(kind, str) and kind in TABLES else MEASURE


def grids(result: Result) -> list[Grid]:
    """Arrange a result in one grid per cloud, per model, per score, or per question."""
    found: list[Grid] = load(TABLES[kind_of(result)])(result)
    return found


def screen_of(result: Result) -> Screen | None:
    """Return what a terminal shows of a result; None for kinds that show their tables."""
    kind = kind_of(result)
    if kind == MEASURE and result.rows and all("unit" in row.extra for row in result.rows):
        kind = SCORES  # of word vectors, which name no kind
    maker = SCREENS.get(kind)
    return None if maker is None else load(maker)(result)


def telling_tables(result: Result) -> list[Table] | None:
    """Return the structured measures that a kind of result shows; None if it has no choice."""
    chooser = TELLING_TABLES.get(kind_of(result))
    return None if chooser is None else load(chooser)(result)

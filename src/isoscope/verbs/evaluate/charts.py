"""Scores with their intervals, layer by layer and corrected, and scores against isotropy.

Scores of one layer are dots, those of several layers or epochs are lines. Whether more isotropic
spaces score better is shown by rank correlations, and by a mark for every space.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isoscope.results.charts.chart import INTERVAL, MOST_POINTS, Figure
from isoscope.results.charts.forms import dots, in_panels, marked_lines
from isoscope.results.charts.layer_axis import numbered
from isoscope.results.charts.marks import (
    MOST_LINES,
    MOST_SERIES,
    Mark,
    Marks,
    finite,
    first_series,
    left_words,
    mark_of,
    of,
    series_style,
    with_interval,
)
from isoscope.results.charts.vega import BEFORE, Spec, name, number, tooltip
from isoscope.results.fields import (
    DIFFERENCE,
    KIND,
    MAIN,
    PART_OF_TASK,
    SCORES,
    UNCORRECTED,
    is_of_checkpoint,
)
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped
from isoscope.verbs.evaluate.text import DIRECTION, ISOTROPY, SCORE, is_relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.results.result import Result, Row


MOST_PANELS = 8
# Lines whose intervals are drawn as bands; more would cover each other.
MOST_BANDS = 3

LAYER_PANEL_HEIGHT = 180
EPOCH = "epoch "


def score_lines(subject: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw every score of a subject over its layers, a line for every correction."""
    every = Marks(mark_of(row, row.part, row.correction, row.measure) for row in rows)
    known = every.known
    panels = known.names("panel")
    corrections = known.series
    places = numbered(known.names("label"))
    marks = Marks(
        {**mark, "place": places[mark["label"]]}
        for mark in known.only(panel=panels[:MOST_PANELS], series=corrections)
    )
    if not marks:
        return []
    where = "epoch" if all(mark["label"].startswith(EPOCH) for mark in marks) else "layer"
    bands = len(corrections) <= MOST_BANDS and marks.has_intervals
    about = " The bands are intervals." if bands else ""
    only = f": {panels[0]}" if len(panels) == 1 else ""
    axis, zoomed = {"tickMinStep": 1, "format": "d"}, {"scale": {"zero": False}}
    return [
        Figure.of(
            (f"scores-by-{where}", subject),
            f"Scores of {subject} {where} by {where}{only}",
            f"Scores of {subject} over its {where}s, a line for every correction.{about} "
            f"{words(marks)}{every.omitted(marks)}",
            marked_lines(
                marks,
                corrections,
                number("place", f"number of the {where}", axis=axis, **zoomed),
                number("value", "score", **zoomed),
                {"series": "correction", "panel": "score"},
                tooltip(
                    {"panel": "score", "label": where, "series": "correction"},
                    {"value": "value", "low": "interval from", "high": "to"},
                ),
                bands=0.15 if bands else 0.0,
                height=LAYER_PANEL_HEIGHT,
                own_axes=("x", "y"),
            ),
            known,
            {"panel": "score", "label": where, "series": "correction", "value": "value",
             **INTERVAL},
        )
    ]  # fmt: skip


def words(marks: Marks) -> str:
    """Describe where every score is highest."""
    said = [
        f"{panel}: highest {shown(own.highest['value'])} in {own.highest['label']} "
        f"({own.highest['series']})"
        for panel, own in marks.by("panel").items()
    ]
    return "; ".join(said) + "."


UNIT = "unit"
# Last words of a score's name, without what follows an @.
METRICS = (
    "pearson", "spearman", "mean", "accuracy", "f1", "matthews", "auc", "v-measure", "ndcg",
    "recall", "mrr",
)  # fmt: skip

AVERAGE = re.compile(r"average(_of_\d+)?$")
# Unit of scores after fine-tuning, which have a figure of their own.
OF_RUNS = "runs"

# Part that studies call so: it stands beside no layer.
BEST_LAYER = "best layer"

# Tasks that the words name one by one.
MOST_NAMED = 6


def task_score_figures(result: Result) -> list[Figure]:
    """Draw scores of every subject: dots where there is one layer, lines where there are more."""
    if result.extra.get(KIND) not in (None, SCORES):
        return []
    rows = [row for row in result.rows if is_score(row)]
    found = []
    for subject, own in grouped(rows, lambda row: row.subject).items():
        layers = [row for row in own if row.part != BEST_LAYER]
        whole = [row for row in own if row.part == BEST_LAYER]
        if len({row.part for row in layers}) < 2:
            whole, layers = [*whole, *layers], []
        for part, here in grouped(whole, lambda row: row.part).items():
            plain, changes = scores_and_changes(here)
            corrections = first_series(row.correction for row in plain)
            found += score_figure(of(subject, part), plain, corrections, change=False)
            found += score_figure(of(subject, part), changes, corrections, change=True)
        found += score_lines(subject, deciding(scores_and_changes(layers)[0]))
    return found


def scores_and_changes(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return scores, and their differences to those of the space as it is."""
    changes = [row for row in rows if row.measure.endswith(DIFFERENCE)]
    return [row for row in rows if not row.measure.endswith(DIFFERENCE)], changes


def is_score(row: Row) -> bool:
    """Whether a row is a score on a task, or a difference of two."""
    name = row.measure.removesuffix(DIFFERENCE)
    metric = name.rpartition("/")[2].partition("@")[0]
    scored = ("/" in name and metric in METRICS) or AVERAGE.match(name) is not None
    return (
        scored
        and row.extra.get(UNIT) not in (None, OF_RUNS)
        and PART_OF_TASK not in row.extra
        and not is_of_checkpoint(row)
        and not row.measure.startswith(("neighbours/", "reduce/"))
    )


def task_and_kind(measure: str) -> tuple[str, str]:
    """Split ``sts-b/cosine/spearman`` into the task and what is scored how."""
    task, _, kind = measure.removesuffix(DIFFERENCE).partition("/")
    return task, kind or "mean over sets"


def deciding(rows: Sequence[Row]) -> list[Row]:
    """Return the score that decides of every task, all where none is marked."""
    main = {row.measure for row in rows if row.extra.get(MAIN)}
    tasks = {task_and_kind(measure)[0] for measure in main}
    return [
        row for row in rows if row.measure in main or task_and_kind(row.measure)[0] not in tasks
    ]


def score_figure(
    subject: str, rows: Sequence[Row], corrections: Sequence[str], *, change: bool
) -> list[Figure]:
    """Draw the scores of one layer, or how far they lie from those of the space as it is."""
    every = Marks(
        mark_of(row, task, row.correction, kind)
        for row in rows
        for task, kind in [task_and_kind(row.measure)]
    )
    known = every.known
    marks = fitting_marks(known, corrections)
    if not marks:
        return []
    what = f"difference to {UNCORRECTED}" if change else "score"
    kinds = marks.names("panel")
    how = ", with its interval" if marks.has_intervals else ""
    titles = {"label": "task", "series": "correction", "panel": "score", "value": what + how}
    said = change_words(known) if change else score_words(known)
    heading = "What corrections change in the scores of" if change else "Scores of"
    heading += f" {subject}: {kinds[0]}" if len(kinds) == 1 else f" {subject}"
    return [
        Figure.of(
            ("score-differences" if change else "scores", subject),
            heading,
            f"{heading}. A dot for every task and correction{how}. {said}"
            f"{every.omitted(marks)}",
            dots(marks, corrections, titles, at=0.0 if change else None),
            Marks(map(score_entry, every, rows)).known,
            {"label": "task", "panel": "score", "series": "correction", "value": what, **INTERVAL,
             "of": "number of", "note": "note"},
        )
    ]  # fmt: skip


def score_entry(mark: Mark, row: Row) -> Mark:
    """Return a score as a row of the table beside its chart."""
    unit = str(row.extra[UNIT])
    return {**mark, "of": f"{shown(row.n)} {unit}" if row.n else unit, "note": row.note}


def fitting_marks(points: Marks, corrections: Sequence[str]) -> Marks:
    """Return what fits: corrections with a colour, and of every panel the first tasks."""
    # Every task takes as many lines as there are corrections.
    most = max(MOST_LINES // max(len(corrections), 1), 1)
    fitting = {panel: own.names("label")[:most] for panel, own in points.by("panel").items()}
    return Marks(
        mark for mark in points.only(series=corrections) if mark["label"] in fitting[mark["panel"]]
    )


def score_words(points: Marks) -> str:
    """Describe for every task the score of the space as it is, and the best one."""
    groups = points.by("label", "panel")
    said = []
    for (task, kind), several in list(groups.items())[:MOST_NAMED]:
        best = several.highest
        plain = [mark for mark in several if mark["series"] == UNCORRECTED]
        start = f"{shown(plain[0]['value'])} as it is, " if plain else ""
        said.append(f"{task} {kind}: {start}at best {shown(best['value'])} with {best['series']}")
    more = len(groups) - MOST_NAMED
    return "; ".join(said) + (f"; and {more} more scores." if more > 0 else ".")


def change_words(points: Marks) -> str:
    """Describe how many differences have their whole interval on one side of 0, and the ends."""
    known = sum(mark["low"] is not None for mark in points)
    up, down = on_one_side(points)
    counts = "No difference has an interval."
    if known:
        counts = (
            f"Of {known:,} differences with an interval, {up:,} are above 0 with all of it and "
            f"{down:,} below."
        )
    high, low = (
        f"{mark['label']} {mark['panel']} with {mark['series']} {with_interval(mark)}"
        for mark in (points.highest, points.lowest)
    )
    return f"{counts} Highest: {high}; lowest: {low}."


def on_one_side(points: Marks) -> tuple[int, int]:
    """Return how many intervals lie above 0, and how many below."""
    known = [mark for mark in points if mark["low"] is not None]
    return sum(mark["low"] > 0 for mark in known), sum(mark["high"] < 0 for mark in known)


def correlation_figure(rows: Sequence[Row]) -> list[Figure]:
    """Draw rank correlations of isotropy and score, a panel for every question."""
    every = Marks(
        mark_of(row, str(row.extra[ISOTROPY]), str(row.extra[SCORE]), row.subject) for row in rows
    )
    known = every.known
    scores = known.series
    marks = known.only(series=scores)
    if not marks:
        return []
    alone = len(marks.names("panel")) == 1
    meaning = " (above 0: more isotropic scores better)" if alone else ""
    titles = {
        "label": "measure of isotropy", "series": "score", "panel": "compared",
        "value": f"rank correlation{meaning}",
    }  # fmt: skip
    return [
        Figure.of(
            ("isotropy-correlations",),
            "Does isotropy go with better scores?",
            "Rank correlations of isotropy and score with their intervals, a panel for every "
            "choice of what is compared. Above 0: the more isotropic a space, the better its "
            f"score. {correlation_words(known)}{every.omitted(marks, 'correlation')}",
            dots(marks, scores, titles, at=0.0, scale={"domain": [-1, 1]}),
            known,
            {"panel": "compared", "series": "score", "label": "measure",
             "value": "rank correlation", **INTERVAL},
        )
    ]  # fmt: skip


def correlation_words(marks: Marks) -> str:
    """Describe for every question how many intervals exclude 0, and the largest correlation."""
    said = []
    for question, own in marks.by("panel").items():
        up, down = on_one_side(own)
        most = max(own, key=lambda mark: abs(float(mark["value"])))
        said.append(
            f"{question}: of {len(own)}, {up} above 0 with their whole interval and {down} below, "
            f"furthest from 0 {most['label']} with {most['series']}, {with_interval(most)}"
        )
    return "; ".join(said) + "."


# Table with the score and the measures of every space.
SPACES = "spaces"

ABOUT = ("model", "layer", "correction")
OWN_FIELDS = ("task", "score", *ABOUT, "value", "low", "high")
POWER = "_log10"
OTHERS = "others"
SCATTER_PANEL_HEIGHT = 200
WAYS = {"lower": "lower is more isotropic", "higher": "higher is more isotropic"}


def isotropy_figures(result: Result) -> list[Figure]:
    """Draw correlations, then for every score all spaces."""
    if not is_relation(result):
        return []
    rows = [row for row in result.rows if SCORE in row.extra and ISOTROPY in row.extra]
    spaces = [row for table in result.tables if table.measure == SPACES for row in table.rows]
    found = correlation_figure(rows)
    for score, own in grouped(spaces, lambda space: str(space.get("score"))).items():
        found += space_figure(score, own, [row for row in rows if str(row.extra[SCORE]) == score])
    return found


def space_figure(score: str, spaces: Sequence[dict[str, Any]], rows: Sequence[Row]) -> list[Figure]:
    """Draw one score against every measure."""
    names = [name for name in measures_of(spaces) if values_of(spaces, name)]
    corrections = few(str(row.get("correction")) for row in spaces)
    models = few(str(row.get("model")) for row in spaces)
    every = Marks(
        mark
        for measure in names[:MOST_PANELS]
        for mark in space_marks(measure, spaces, corrections, models, rows)
    )
    marks = evenly(every, MOST_POINTS)
    if not marks:
        return []
    cut = f" Of {len(every):,} marks, {len(marks):,} are drawn." if len(marks) < len(every) else ""
    more = len(names) - MOST_PANELS
    cut += left_words(max(more, 0), "measure", "of isotropy")
    return [
        Figure.of(
            ("score-against-isotropy", score),
            f"{score} against isotropy",
            f"The score {score} of {len(spaces):,} spaces (models, layers and corrections) against "
            f"{', '.join(names[:MOST_PANELS])}. {across_words(rows)}{cut}",
            scatter(marks, corrections),
            [
                {**{field: str(space.get(field, "")) for field in ABOUT},
                 **{field: finite(space.get(field)) for field in ("value", *names)}}
                for space in spaces
            ],
            {**{field: field for field in ABOUT}, "value": score, **{one: one for one in names}},
        )
    ]  # fmt: skip


def measures_of(spaces: Sequence[dict[str, Any]]) -> list[str]:
    """Return what spaces were measured by; the logarithm of a measure is none of its own."""
    keys = dict.fromkeys(key for row in spaces for key in row if key not in OWN_FIELDS)
    return [key for key in keys if not (key.endswith(POWER) and key.removesuffix(POWER) in keys)]


def values_of(
    spaces: Sequence[dict[str, Any]], measure: str
) -> list[tuple[dict[str, Any], float, float]]:
    """Return spaces with measure and score; by power of ten where all have one."""
    # Some I1 are below the smallest double: their logarithm is all that is known of them.
    by_power = all(
        finite(row.get(measure + POWER)) is not None
        for row in spaces
        if row.get(measure) is not None
    )
    key = measure + POWER if by_power else measure
    both = [(row, finite(row.get(key)), finite(row.get("value"))) for row in spaces]
    return [(row, x, y) for row, x, y in both if x is not None and y is not None]


def space_marks(
    measure: str,
    spaces: Sequence[dict[str, Any]],
    corrections: Sequence[str],
    models: Sequence[str],
    rows: Sequence[Row],
) -> Marks:
    """Return the marks of one panel; what has no colour or shape of its own is with others."""
    by_power = any(finite(row.get(measure + POWER)) is not None for row in spaces)
    ways = [str(row.extra.get(DIRECTION)) for row in rows if row.extra[ISOTROPY] == measure]
    way = WAYS.get(ways[0], "") if ways else ""
    panel = f"log10 of {measure}" if by_power else measure
    return Marks(
        {
            "panel": f"{panel} ({way})" if way else panel,
            "place": x,
            "value": y,
            **{field: str(row.get(field)) for field in ABOUT},
            "series": one_of(corrections, row.get("correction")),
            "family": one_of(models, row.get("model")),
        }
        for row, x, y in values_of(spaces, measure)
    )


def few(names: Iterable[str]) -> list[str]:
    """Return the names that colours and shapes reach for; the rest is with others."""
    every = list(dict.fromkeys(names))
    return every if len(every) <= MOST_SERIES else every[: MOST_SERIES - 1]


def one_of(names: Sequence[str], text: Any) -> str:
    """Return a name, or others where it is none of a few."""
    return str(text) if str(text) in names else OTHERS


def evenly(marks: Marks, most: int) -> Marks:
    """Return so many marks at the same distances, so that all panels keep the same share."""
    kept = min(len(marks), most)
    return Marks(marks[k * len(marks) // kept] for k in range(kept))


def across_words(rows: Sequence[Row]) -> str:
    """Describe the correlations over all spaces, which come first."""
    said = [
        f"{row.extra[ISOTROPY]} {with_interval(mark_of(row, '', ''))}"
        for row in rows
        if row.subject == rows[0].subject and finite(row.value) is not None
    ]
    if not said:
        return "No correlation is known."
    return f"Rank correlations with isotropy over {rows[0].subject}: {'; '.join(said)}."


def scatter(marks: Marks, corrections: Sequence[str]) -> Spec:
    """Return a mark for every space; colours are corrections, shapes models if there are some."""
    style = series_style([*corrections, OTHERS], marks, "correction", ("color", "shape"))
    if len(marks.names("family")) > 1:
        style["shape"] = name("family", "model", legend={"symbolFillColor": BEFORE})
    encoding = {
        "x": number("place", "measure", scale={"zero": False}),
        "y": number("value", "score", scale={"zero": False}),
        **style,
        "tooltip": tooltip(
            {"model": "model", "layer": "layer", "correction": "correction", "panel": "measure"},
            {"place": "measured", "value": "score"},
        ),
    }
    mark = {"type": "point", "opacity": 0.8}
    spec = {"mark": mark, "encoding": encoding, "height": SCATTER_PANEL_HEIGHT}
    return in_panels(marks, spec, "measure of isotropy", own_axes=("x",))

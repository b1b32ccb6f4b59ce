"""Thresholds for people: what labelled pairs say, then what random pairs do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.render import REMARKS, Grid, cell, grouped_notes, plus_minus
from isoscope.results.scored import KIND

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

THRESHOLDS = "thresholds"
RANDOM = "random-pairs/"
UNCORRECTED = "none"
FORMS = {"cosine_distance": "distance", "euclidean_of_unit": "Euclidean"}
INTERVAL_NOTE = "±: how far the 95 % interval reaches, its longer side"
FORM_NOTE = (
    "distance: 1 − cosine; Euclidean: √(2 − 2 cosine), of unit vectors; (1 + cosine)/2 is in --json"
)
THRESHOLD = "/threshold"
SCORES = {"precision": "precision", "recall": "recall", "f1": "F1"}
HELD_OUT = (
    "accept a cosine of at least the threshold; precision, recall, F1 are those of thresholds "
    "chosen without the fold that they are judged on"
)


def is_threshold(result: Result) -> bool:
    """Whether a result says what scores mean."""
    return result.extra.get(KIND) == THRESHOLDS


def threshold_grids(result: Result) -> list[Grid]:
    """Arrange labelled pairs, then random pairs; the sentences stand below the last table."""
    labelled = [row for row in result.rows if not row.measure.startswith(RANDOM)]
    random = [row for row in result.rows if row.measure.startswith(RANDOM)]
    goals = dict.fromkeys(
        row.measure.removesuffix(THRESHOLD) for row in labelled if row.measure.endswith(THRESHOLD)
    )
    found = [area_grid(labelled)] if labelled else []
    found += [goal_grid(labelled, goal) for goal in goals]
    found += random_grids(random)
    last = found[-1]
    verdict = [*map(str, result.extra.get(REMARKS, []))]
    return [*found[:-1], Grid(last.title, last.header, last.rows, last.notes, verdict)]


def area_grid(rows: list[Row]) -> Grid:
    """Arrange how well each space tells yes from no, whatever the threshold."""
    first = rows[0]
    task = first.measure.rpartition("/")[0]
    by_name = {(row.correction, row.measure.removeprefix(f"{task}/")): row for row in rows}
    body = [
        [
            correction,
            cell(by_name.get((correction, "auc")), error=False),
            cell(by_name.get((correction, "auc/difference")), error=False),
            plain(by_name[correction, "brier"].value),
        ]
        for correction in corrections_of(rows)
    ]
    base = by_name[first.correction, "brier"].extra["base_rate"]
    notes = [
        "AUC: how often a yes has the higher cosine than a no; it does not depend on a threshold",
        f"Brier: squared error of the probabilities of --map; {base:.4f} for the share of yeses",
    ]
    title = f"{first.subject}: {task}, {first.n:,} pairs ({first.protocol})"
    header = ["correction", "AUC", "change", "Brier"]
    return Grid(title, header, body, notes + grouped_notes([first]), [])


def goal_grid(rows: list[Row], goal: str) -> Grid:
    """Arrange one goal: corrections down, threshold in both forms, then how well it does."""
    by_name = {(row.correction, row.measure): row for row in rows}
    body = []
    for correction in corrections_of(rows):
        cut = by_name[correction, goal + THRESHOLD]
        distance = plain(cut.extra.get("cosine_distance"))
        scores = [short(by_name[correction, f"{goal}/{name}"]) for name in SCORES]
        body.append([correction, plain(cut.value), distance, *scores])
    threshold = next(row for row in rows if row.measure == goal + THRESHOLD)
    title = f"threshold for {threshold.extra['goal']}"
    concerned = [row for row in rows if row.measure.startswith(goal + "/")]
    header = ["correction", "cosine", "distance", *SCORES.values()]
    return Grid(title, header, body, [HELD_OUT, *grouped_notes(concerned)], [])


def corrections_of(rows: list[Row]) -> list[str]:
    """Return the corrections of some rows, each once."""
    return list(dict.fromkeys(row.correction for row in rows))


def short(row: Row) -> str:
    """Return a score with its interval in few letters."""
    if row.value is None:
        return "undefined"
    if row.low is None or row.high is None:
        return f"{row.value:.3f}"
    return f"{row.value:.3f} ({row.low:.2f}–{row.high:.2f})"


def random_grids(rows: list[Row]) -> list[Grid]:
    """Arrange random pairs: the vectors as they are in every form, then all spaces side by side."""
    # What too few pairs tell is in the notes: a row of it would say nothing.
    known = [row for row in rows if row.value is not None]
    of_uncorrected = [row for row in rows if row.correction == UNCORRECTED]
    title = f"{rows[0].subject}: random pairs ({rows[0].protocol})"
    header = ["random pairs", "cosine", *FORMS.values(), "a query meets"]
    body = [
        [
            described(row),
            score_of(row),
            *(plain(row.extra.get(form)) for form in FORMS),
            counted_matches(row.extra["matches_per_query"]),
        ]
        for row in known
        if row.correction == UNCORRECTED
    ]
    found = [
        Grid(title, header, body, [FORM_NOTE, INTERVAL_NOTE, *grouped_notes(of_uncorrected)], [])
    ]
    spaces = list(dict.fromkeys(row.correction for row in rows))
    if len(spaces) > 1:
        cells = {(row.correction, row.measure): row for row in rows}
        names = list(dict.fromkeys(row.measure for row in known))
        side_by_side = [
            [
                words(name, cells[spaces[0], name]),
                *(plain(cells[space, name].value) for space in spaces),
            ]
            for name in names
        ]
        found.append(Grid("cosine by correction", ["random pairs", *spaces], side_by_side, [], []))
    return found


def described(row: Row) -> str:
    """Say what a row of the first table is about; a user's own score has its percentile here."""
    if "score" in row.extra:
        return f"{row.value:.4g} % below" if row.value is not None else "undefined"
    return words(row.measure, row)


def words(measure: str, row: Row) -> str:
    """Say what a row is about."""
    what = measure.removeprefix(RANDOM)
    if "score" in row.extra:
        return f"% below {row.extra['score']:g}"
    if what.endswith("%"):
        return f"{what} below"
    return f"{what.removesuffix('-per-query')} a query above"


def score_of(row: Row) -> str:
    """Return the cosine that a row is about, with its interval where it was found."""
    if "score" in row.extra:
        return plain(row.extra["score"])
    return plain(row.value) + plus_minus(row)


def counted_matches(expected: float) -> str:
    """Return how many vectors a query meets by chance."""
    return f"{expected:,.0f}" if expected >= 10 else f"{expected:.2g}"


def plain(value: float | None) -> str:
    """Return a score as stores take it."""
    return "undefined" if value is None else f"{value:.4f}"

"""Thresholds for people: tables of labelled pairs and of random pairs, and sentences about both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoscope.compute.stats.pair_cosines import FEWEST_PAIRS
from isoscope.results.fields import REMARKS, UNCORRECTED
from isoscope.results.numbers import cell, plus_minus, with_interval
from isoscope.results.tables import Grid, grouped_notes, pivot
from isoscope.verbs.threshold.names import PER_QUERY, RANDOM, RARE, SCORE, THRESHOLD

if TYPE_CHECKING:
    from isoscope.compute.stats.estimates import Difference
    from isoscope.results.result import Result, Row
    from isoscope.verbs.threshold.chance import Meaning
    from isoscope.verbs.threshold.labelled_pairs import SpaceScores


FORMS = {"cosine_distance": "distance", "euclidean_of_unit": "Euclidean"}
INTERVAL_NOTE = "±: how far the 95 % interval reaches, its longer side"
FORM_NOTE = (
    "distance: 1 − cosine; Euclidean: √(2 − 2 cosine), of unit vectors; (1 + cosine)/2 is in --json"
)
SCORES = {"precision": "precision", "recall": "recall", "f1": "F1"}
HELD_OUT = (
    "accept a cosine of at least the threshold; precision, recall, F1 are those of thresholds "
    "chosen without the fold that they are judged on"
)


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
    found[-1].verdict.extend(map(str, result.extra.get(REMARKS, [])))
    return found


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
    return Grid(title, header, body, notes + grouped_notes([first]))


def goal_grid(rows: list[Row], goal: str) -> Grid:
    """Arrange one goal: corrections down, threshold in both forms, then how well it does."""
    by_name = {(row.correction, row.measure): row for row in rows}
    body = []
    for correction in corrections_of(rows):
        cut = by_name[correction, goal + THRESHOLD]
        scores = [by_name[correction, f"{goal}/{name}"] for name in SCORES]
        body.append(
            [
                correction,
                plain(cut.value),
                plain(cut.extra.get("cosine_distance")),
                *(with_interval(row, ".3f", ".2f", to="–") for row in scores),
            ]
        )
    threshold = next(row for row in rows if row.measure == goal + THRESHOLD)
    title = f"threshold for {threshold.extra['goal']}"
    concerned = [row for row in rows if row.measure.startswith(goal + "/")]
    header = ["correction", "cosine", "distance", *SCORES.values()]
    return Grid(title, header, body, [HELD_OUT, *grouped_notes(concerned)])


def corrections_of(rows: list[Row]) -> list[str]:
    """Return the corrections of some rows, each once."""
    return list(dict.fromkeys(row.correction for row in rows))


def random_grids(rows: list[Row]) -> list[Grid]:
    """Arrange random pairs: the vectors as they are in every form, then all spaces side by side."""
    title = f"{rows[0].subject}: random pairs ({rows[0].protocol})"
    header = ["random pairs", "cosine", *FORMS.values(), "a query meets"]
    # What too few pairs tell is in the notes: a row of it would say nothing.
    known = [row for row in rows if row.value is not None]
    uncorrected = [row for row in rows if row.correction == UNCORRECTED]
    body = [
        [
            described(row),
            score_of(row),
            *(plain(row.extra.get(form)) for form in FORMS),
            counted_matches(row.extra[PER_QUERY]),
        ]
        for row in uncorrected
        if row.value is not None
    ]
    notes = [FORM_NOTE, INTERVAL_NOTE, *grouped_notes(uncorrected)]
    found = [Grid(title, header, body, notes)]
    if len(corrections_of(rows)) > 1:
        header, body = pivot(
            rows, "measure", "correction", lambda row: plain(None if row is None else row.value),
            corner="random pairs", lines={row.measure: words(row) for row in known},
        )  # fmt: skip
        found.append(Grid("cosine by correction", header, body))
    return found


def described(row: Row) -> str:
    """Say what a row of the first table is about; a user's own score has its percentile here."""
    return f"{row.value:.4g} % below" if SCORE in row.extra else words(row)


def words(row: Row) -> str:
    """Say what a row is about."""
    what = row.measure.removeprefix(RANDOM)
    if SCORE in row.extra:
        return f"% below {row.extra[SCORE]:g}"
    return f"{what} below" if what.endswith("%") else what.replace("-per-query", " a query above")


def score_of(row: Row) -> str:
    """Return the cosine that a row is about, with its interval where it was found."""
    if SCORE in row.extra:
        return plain(row.extra[SCORE])
    return plain(row.value) + plus_minus(row)


def counted_matches(expected: float) -> str:
    """Return how many vectors a query meets by chance."""
    return f"{expected:,.0f}" if expected >= 10 else f"{expected:.2g}"


def plain(value: float | None) -> str:
    """Return a score as stores take it."""
    return "undefined" if value is None else f"{value:.4f}"


# The share of random pairs that the first sentence is about.
TYPICAL = 0.01

# A threshold that moves by less gives nearly the same matches.
MOVED = 0.02

# An area that changes by less is, for a user, the same.
SMALL = 0.01


def background_sentences(one: Meaning) -> list[str]:
    """Say what the 99th percentile of random pairs lets through, and where scores say little."""
    score, matches = one.pairs.quantile(TYPICAL), TYPICAL * one.others
    lines = [
        f"A cosine of {score:.3f} (distance {1 - score:.3f}) is the 99th percentile of "
        f"random pairs: a query meets about {matches:,.0f} of {one.others:,} other vectors above "
        "it by chance."
    ]
    if TYPICAL * one.pairs.count < FEWEST_PAIRS:
        lines = [f"{one.pairs.count:,} random pairs are too few for a 99th percentile."]
    middle = one.pairs.quantile(0.5)
    if middle >= 0.5:
        lines.append(
            f"Half of all random pairs have a cosine above {middle:.3f}: scores are high here "
            "because vectors share a direction, not because they are related."
        )
    return lines


def change_sentences(scored: Sequence[SpaceScores]) -> list[str]:
    """Say of every correction whether it moves the threshold, the ranking of pairs, or both."""
    plain = next((one for one in scored if one.name == UNCORRECTED), None)
    if plain is None or plain.auc.value is None:
        return []
    lines = []
    for one in scored:
        if one.change is None or one.change.value is None or one.auc.value is None:
            continue
        areas = f"{plain.auc.value:.4f} to {one.auc.value:.4f}"
        lines.append(f"{one.name} {moved(plain, one)}{area_change(one.change)} ({areas}).")
    return lines


def moved(plain: SpaceScores, one: SpaceScores) -> str:
    """Say what becomes of the first threshold that both have."""
    for cut_before, cut_after in zip(plain.thresholds, one.thresholds, strict=True):
        before, after = cut_before.chosen.threshold, cut_after.chosen.threshold
        if before is not None and after is not None:
            if abs(after - before) < MOVED:
                return f"leaves the threshold for {cut_after.goal.words} where it is, and "
            goal = cut_after.goal.words
            return f"moves the threshold for {goal} from {before:.3f} to {after:.3f}, and "
    return ""


def area_change(change: Difference) -> str:
    """Say whether the ranking of pairs changes; that it does not takes an interval close to 0."""
    low, high = change.low, change.high
    if low is None or high is None:
        return "leaves the AUC as it is" if not change.value else "changes the AUC"
    if max(abs(low), abs(high)) <= SMALL:
        return "leaves the AUC alone"
    if low > 0:
        return "raises the AUC"
    if high < 0:
        return "lowers the AUC"
    return "whether it changes the AUC these pairs cannot tell"


def rare_sentences(scored: Sequence[SpaceScores], share: float) -> list[str]:
    """Warn that precision is that of the labelled pairs, which hold more yeses than a search."""
    cut = scored[0].thresholds[0]
    rare = cut.rare_precision
    if rare is None or cut.precision.value is None or share <= RARE:
        return []
    return [
        f"Precision is that of pairs like these, of which {share:.0%} are a yes. Where one pair in "
        f"{1 / RARE:,.0f} is, the threshold for {cut.goal.words} ({scored[0].name}) has a "
        f"precision of {with_interval(rare, '.3f')} instead of {cut.precision.value:.3f}; recall "
        "stays."
    ]

"""Thresholds for people: tables of labelled pairs and of random pairs, and sentences about both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isoscope.compute.stats.pair_cosines import FEWEST_PAIRS
from isoscope.results.fields import REMARKS, UNCORRECTED
from isoscope.results.numbers import cell, plus_minus, with_interval
from isoscope.results.sentences import Sentence, with_role
from isoscope.results.tables import Grid, grouped_notes, pivot
from isoscope.verbs.threshold.base_rate import rate_words
from isoscope.verbs.threshold.names import (
    BASE_RATE,
    IN_SEARCH,
    LEVEL,
    ORIGIN,
    PER_QUERY,
    RANDOM,
    REWEIGHTED,
    SCORE,
    SHARE_ABOVE,
    THRESHOLD,
)

if TYPE_CHECKING:
    from isoscope.compute.stats.estimates import Difference, Estimate
    from isoscope.results.result import Result, Row
    from isoscope.verbs.threshold.base_rate import BaseRate, RarePrecision
    from isoscope.verbs.threshold.chance import Meaning
    from isoscope.verbs.threshold.labelled_pairs import SpaceScores


FORMS = {"cosine_distance": "distance", "euclidean_of_unit": "Euclidean"}
INTERVAL_NOTE = "±: the longer side of the {:g} % interval"
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
    # The best F1 comes last; where the user has a goal, that is the one that matters in use.
    found += [
        rate_grid(labelled, goal)
        for goal in list(goals)[: max(1, len(goals) - 1)]
        if any(row.measure == goal + IN_SEARCH for row in labelled)
    ]
    found += random_grids(random, float(result.extra.get(LEVEL, 0.95)))
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
        "AUC: how often a match has a higher cosine than a non-match; needs no threshold",
        f"Brier: squared error of the probabilities of --map; {base:.4f} for the share of matches",
    ]
    if len(body) > 2:
        notes.append(
            "change: each interval is for one correction by itself; isoscope advise allows for "
            "trying several"
        )
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


REWEIGHTED_NOTE = "labelled pairs, reweighted: non-matches score like the labelled ones"
SEARCH_NOTE = (
    "search over the store: as many pairs are accepted as random pairs of the store are, matches "
    "at the base rate among them"
)


def rate_grid(rows: list[Row], goal: str) -> Grid:
    """Arrange the precision of a threshold at the base rate, by what is assumed of noes."""
    by_name = {(row.correction, row.measure): row for row in rows}
    body = []
    for correction in corrections_of(rows):
        reweighted, search = (by_name[correction, goal + end] for end in (REWEIGHTED, IN_SEARCH))
        above = search.extra.get(SHARE_ABOVE)
        body.append(
            [
                correction,
                with_interval(reweighted, precise, to="–"),
                with_interval(search, precise, to="–"),
                "undefined" if above is None else f"{100 * above:.3g} %",
            ]
        )
    concerned = [row for row in rows if row.measure in (goal + REWEIGHTED, goal + IN_SEARCH)]
    about = concerned[0].extra
    rate = f"{rate_words(about[BASE_RATE])} ({about[ORIGIN]})"
    title = f"precision of the threshold for {about['goal']} at a base rate of {rate}"
    header = [
        "correction",
        "labelled pairs, reweighted",
        "search over the store",
        "random pairs above",
    ]
    return Grid(title, header, body, [REWEIGHTED_NOTE, SEARCH_NOTE, *grouped_notes(concerned)])


def corrections_of(rows: list[Row]) -> list[str]:
    """Return the corrections of some rows, each once."""
    return list(dict.fromkeys(row.correction for row in rows))


def random_grids(rows: list[Row], level: float) -> list[Grid]:
    """Arrange random pairs: the vectors as they are in every form, then all spaces side by side."""
    title = f"{rows[0].subject}: random pairs ({rows[0].protocol})"
    header = ["random pairs", "cosine", *FORMS.values(), "chance matches per query"]
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
    notes = [FORM_NOTE, INTERVAL_NOTE.format(100 * level), *grouped_notes(uncorrected)]
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
    """Return how many vectors a query returns by chance."""
    return f"{expected:,.0f}" if expected >= 10 else f"{expected:.2g}"


def plain(value: float | None) -> str:
    """Return a score as stores take it."""
    return "undefined" if value is None else f"{value:.4f}"


# Roles of sentences: pairs that are not judged, whether cosines tell labels apart, what corrections
# change, precision where matches are rare, cosines of random pairs, that these are high, and norms.
EXCLUDED, WARNING, CHANGE, RATE, RANDOM_PAIRS, HIGH, NORMS = (
    "excluded pairs", "warning", "change", "base rate", "random pairs", "high cosines", "norms",
)  # fmt: skip

# The share of random pairs that the first sentence is about.
TYPICAL = 0.01

# A change of the AUC by less is called negligible: of a hundred comparisons of a yes with a no,
# less than one comes out differently.
SMALL = 0.01

# Said of several corrections: where none changes the AUC, one of five seems to in up to a quarter
# of all draws.
SINGLE_CHANGES = (
    "Each of these intervals is for one correction by itself; isoscope advise allows for trying "
    "several."
)

# The AUC of scores that have nothing to do with the labels.
CHANCE_AREA = 0.5

# With fewer yeses, or noes, nothing is said about the AUC: intervals from so few are too short, and
# "significantly" is wrong in more than 5 % of draws (docs/results/sentences.md).
FEWEST_OF_A_KIND = 10


def background_sentences(one: Meaning) -> list[Sentence]:
    """Say what the 99th percentile of random pairs lets through, and where scores say little."""
    score, matches = one.pairs.quantile(TYPICAL), TYPICAL * one.others
    lines = [
        f"A cosine of {score:.3f} (distance {1 - score:.3f}) is the 99th percentile of "
        f"random pairs: a query returns about {matches:,.0f} of {one.others:,} other vectors above "
        "it by chance."
    ]
    if TYPICAL * one.pairs.count < FEWEST_PAIRS:
        lines = [f"{one.pairs.count:,} random pairs are too few for a 99th percentile."]
    middle = one.pairs.quantile(0.5)
    high = (
        f"Half of all random pairs have a cosine above {middle:.3f}: most vectors point in similar "
        "directions, so that a high score alone does not show that two of them are related."
    )
    return [*with_role(RANDOM_PAIRS, lines), *with_role(HIGH, [high] if middle >= 0.5 else [])]


def relation_sentences(one: SpaceScores) -> list[Sentence]:
    """Warn where cosines do not tell a yes from a no: any threshold is as good as another then."""
    area = one.auc
    if area.value is None or area.low is None or area.high is None or area.low > CHANCE_AREA:
        return []
    numbers = (
        f"the AUC {space_words(one.name)} is {with_interval(area, '.3f')}, where "
        f"{CHANCE_AREA:g} is chance"
    )
    if area.high < CHANCE_AREA:
        often = f"A no often has a higher cosine than a yes: {numbers}. Are the labels reversed?"
        return [Sentence(WARNING, often)]
    said = (
        f"Cosines do not separate yes from no significantly: {numbers}. Thresholds chosen on "
        "these pairs mean little for others."
    )
    return [Sentence(WARNING, said)]


def change_sentences(scored: Sequence[SpaceScores]) -> list[Sentence]:
    """Say of every correction where its threshold is, and whether it ranks pairs differently."""
    plain = next((one for one in scored if one.name == UNCORRECTED), None)
    if plain is None or plain.auc.value is None:
        return []
    found = []
    for one in scored:
        if one.change is not None and one.change.value is not None:
            told = area_change(one.change, one.fewest)
            text = f"{one.name}: {thresholds(plain, one)}{told}."
            found.append(Sentence(CHANGE, text, f"{one.name}: {told}."))
    if len(found) > 1:
        found.append(Sentence(CHANGE, SINGLE_CHANGES))
    return found


def thresholds(plain: SpaceScores, one: SpaceScores) -> str:
    """Say where the first threshold is that both spaces have, without a verdict."""
    for cut_before, cut_after in zip(plain.thresholds, one.thresholds, strict=True):
        before, after = cut_before.chosen.threshold, cut_after.chosen.threshold
        if before is not None and after is not None:
            return (
                f"the threshold for {cut_after.goal.words} is {after:.3f} instead of "
                f"{before:.3f}, and "
            )
    return ""


def area_change(change: Difference, fewest: int) -> str:
    """Say whether pairs are ranked better or worse, as the interval of the change says it.

    ``fewest`` is the number of yeses, or of noes where these are fewer.
    """
    low, high, value = change.low, change.high, change.value
    if low is None or high is None or value is None:
        if not value:
            return "the AUC does not change: no pair is ranked differently"
        return f"no statement about the AUC is possible ({change.note or 'no interval'})"
    numbers = with_interval(change, "+.4f")
    if fewest < FEWEST_OF_A_KIND:
        return (
            f"no statement about the change of the AUC, {numbers}: {fewest:,} pairs of the rarer "
            f"label are fewer than {FEWEST_OF_A_KIND}"
        )
    small = max(abs(low), abs(high)) <= SMALL
    if low > 0 or high < 0:
        told = f"the AUC is significantly {'higher' if low > 0 else 'lower'}: {numbers}"
        return f"{told}, a negligible change of at most {SMALL:g}" if small else told
    told = f"the AUC does not change significantly: {numbers}"
    if small:
        return f"{told}, and a change of more than {SMALL:g} is ruled out"
    return f"{told}; a change of more than {SMALL:g} is not ruled out"


def rate_sentences(
    one: SpaceScores, rate: BaseRate, rare: Mapping[tuple[str, str], RarePrecision]
) -> list[Sentence]:
    """Say which precision the first threshold of a space has where matches are rare."""
    cut = next((cut for cut in one.thresholds if cut.precision.value is not None), None)
    if cut is None:
        return []
    found = rare[one.name, cut.goal.name]
    lines = [f"Base rate of matches: {rate} pairs ({rate.reason}). --base-rate sets another."]
    if found.reweighted.value is not None:
        lines.append(
            f"At this base rate the threshold for {cut.goal.words} {space_words(one.name)} has a "
            f"precision of {with_interval(found.reweighted, precise)} if non-matches score like "
            f"the labelled ones, of which {percent(cut.false_share)} lie above it."
        )
    if found.in_search.value is not None and found.above is not None:
        lines.append(
            f"In a search over the store it has a precision of "
            f"{with_interval(found.in_search, precise)}: {percent(found.above)} of random pairs "
            "lie above it."
        )
    else:
        why = found.in_search.note.removeprefix("undefined: ")
        lines.append(f"Its precision in a search over the store is undefined: {why}.")
    return with_role(RATE, lines)


def space_words(name: str) -> str:
    """Name the space that a figure is of."""
    return "without a correction" if name == UNCORRECTED else f"after {name}"


def precise(value: float) -> str:
    """Return a precision with three digits, tiny ones with two that count."""
    return f"{value:.3f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def percent(share: Estimate) -> str:
    """Return a share in percent."""
    return "an unknown share" if share.value is None else f"{100 * share.value:.3g} %"

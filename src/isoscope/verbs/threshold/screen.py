"""What a terminal shows of thresholds: what the score asked about is worth, then scores to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.fields import REMARKS, UNCORRECTED
from isoscope.results.numbers import in_percent, with_interval
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen
from isoscope.results.screen.commands import next_step
from isoscope.results.screen.densities import DENSITY, density_picture
from isoscope.verbs.threshold.names import PER_QUERY, RANDOM, SCORE, SHARE_ABOVE, THRESHOLD
from isoscope.verbs.threshold.text import (
    SCORES,
    corrections_of,
    counted_matches,
    precise,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

# Expected chance matches per query from which on a score is called common, and below which rare.
COMMON, RARE = 1.0, 0.1

# How thresholds for few chance matches are called.
LINES = {
    "10-per-query": "10 chance matches per query",
    "1-per-query": "1 chance match per query",
    "0.1-per-query": "1 in 10 queries",
}
PERCENTILES = {
    "99%": "1 % of random pairs",
    "99.9%": "0.1 % of random pairs",
}

# How sentences about the base rate begin.
ABOUT_RATE = ("Base rate", "At this base rate", "In a search over", "Its precision in a search")
ABOUT_NORMS = ("The vectors are not of one length", "The vectors have different norms")

# How warnings begin that cosines do not separate the labels.
WARNINGS = ("A no often has", "Cosines do not tell")


def threshold_screen(result: Result) -> Screen:
    """Return the screen of thresholds."""
    labelled = [row for row in result.rows if not row.measure.startswith(RANDOM)]
    random = [row for row in result.rows if row.measure.startswith(RANDOM)]
    first = random[0]
    remarks = [str(line) for line in result.extra.get(REMARKS, [])]
    own = [row for row in random if row.correction == first.correction]
    asked = [row for row in own if SCORE in row.extra]
    how = first.protocol.split(", seed")[0]
    answer: list[str] = []
    body: list[list[Block]] = []
    if labelled:
        answer += about_goal(labelled, remarks)
        body.append([goal_table(labelled)])
    answer += [" ".join(about_score(row, others_of(own)) for row in asked)] if asked else []
    if not answer:
        answer = [" ".join(line for line in remarks if not line.startswith(ABOUT_NORMS))]
    body.append([random_table(own)])
    density = next((one for one in result.tables if one.measure == DENSITY), None)
    if density is not None and not labelled:
        body.append([density_picture(density, [row.extra[SCORE] for row in asked])])
    facts = [Fact("Note", line) for line in remarks if line.startswith(ABOUT_NORMS)]
    return Screen(f"{first.subject} · {how}", answer, body, [*facts, *more(result, labelled)])


def others_of(rows: Sequence[Row]) -> float:
    """Return how many vectors a query is compared with."""
    row = next(row for row in rows if row.extra.get(SHARE_ABOVE))
    return float(row.extra[PER_QUERY]) / float(row.extra[SHARE_ABOVE])


def about_score(row: Row, others: float) -> str:
    """Say how common a score is among random pairs, and what a query returns above it by chance."""
    share, matches = float(row.extra[SHARE_ABOVE]), float(row.extra[PER_QUERY])
    score = f"{row.extra[SCORE]:g}"
    if share == 0:
        return f"{score} is rare: none of {row.n or 0:,} random pairs lies above it."
    word = "common" if matches >= COMMON else "rare" if matches < RARE else "uncommon"
    return (
        f"{score} is {word}: {in_percent(share)} of random pairs lie above it. A query against "
        f"{others:,.0f} vectors returns about {counted_matches(matches)} of them by chance."
    )


def about_goal(rows: Sequence[Row], remarks: Sequence[str]) -> list[str]:
    """Say which threshold reaches the first goal, and what it is worth where matches are rare."""
    cut = next(row for row in rows if row.measure.endswith(THRESHOLD))
    goal = cut.measure.removesuffix(THRESHOLD)
    if cut.value is None:
        said = f"No threshold reaches {cut.extra['goal']}: {cut.note or 'too few pairs'}."
    else:
        scores = {row.measure: row for row in rows if row.correction == cut.correction}
        precision, recall = (
            with_interval(scores[f"{goal}/{name}"], ".2f") for name in ("precision", "recall")
        )
        space = "" if cut.correction == UNCORRECTED else f" after {cut.correction}"
        said = (
            f"For {cut.extra['goal']}, accept a cosine of at least {cut.value:.3f}{space}: on "
            f"pairs that it was not chosen on, the precision is {precision} and the recall "
            f"{recall}."
        )
    warned = [line for line in remarks if line.startswith(WARNINGS)]
    rate = [line for line in remarks if line.startswith(ABOUT_RATE)]
    return [" ".join([said, *warned]), *([" ".join(rate)] if rate else [])]


def goal_table(rows: Sequence[Row]) -> Numbers:
    """Arrange the first goal: corrections down, the threshold and how well it does across."""
    goal = next(row for row in rows if row.measure.endswith(THRESHOLD)).measure
    goal = goal.removesuffix(THRESHOLD)
    task = rows[0].measure.rpartition("/")[0]
    by_name = {(row.correction, row.measure): row for row in rows}
    body = []
    for correction in corrections_of(list(rows)):
        cut = by_name[correction, goal + THRESHOLD]
        area = by_name.get((correction, f"{task}/auc"))
        scores = [by_name[correction, f"{goal}/{name}"].value for name in SCORES]
        body.append(
            [
                "as is" if correction == UNCORRECTED else correction,
                "–" if cut.value is None else f"{cut.value:.3f}",
                *("–" if score is None else precise(score) for score in scores),
                "–" if area is None or area.value is None else f"{area.value:.3f}",
            ]
        )
    return Numbers(["", "cosine", *SCORES.values(), "AUC"], body, turn=False)


def random_table(rows: Sequence[Row]) -> Numbers:
    """Arrange thresholds that few random pairs exceed."""
    known = {row.measure.removeprefix(RANDOM): row for row in rows if row.value is not None}
    lines = {name: words for name, words in {**LINES, **PERCENTILES}.items() if name in known}
    body = [
        [words, with_reach(known[name]), f"{1 - (known[name].value or 0.0):.3f}"]
        for name, words in lines.items()
    ]
    return Numbers(["to have at most …", "cosine above", "distance below"], body, turn=False)


def with_reach(row: Row) -> str:
    """Return a cosine with the longer side of its interval, in three digits."""
    if row.value is None or row.low is None or row.high is None:
        return "–" if row.value is None else f"{row.value:.3f}"
    reach = max(row.high - row.value, row.value - row.low, 0.001)
    return f"{row.value:.3f} ±{reach:.3f}"


def more(result: Result, labelled: Sequence[Row]) -> list[Fact]:
    """Return the command to run next, and where everything else is."""
    if labelled and result.command and "--map" not in result.command:
        text = f"{result.command} --map map.json"
        step = Fact("Next", text, "write the probability of a match by cosine", command=True)
    elif labelled:
        step = next_step(result, "advise", "--pairs", "PAIRS.tsv", remark="does a correction help?")
    else:
        step = next_step(result, "threshold", "--pairs", "LABELLED.csv", "--precision", "0.9")
    return [step, Fact("More", "--details  every percentile and correction     --json")]

"""What a terminal shows of thresholds: what the score asked about is worth, then scores to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.compute.stats.quantiles import beta_quantile
from isoscope.results.fields import UNCORRECTED
from isoscope.results.numbers import in_percent, with_interval
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen, Text
from isoscope.results.screen.commands import given, next_step, quoted
from isoscope.results.screen.densities import DENSITY, density_picture
from isoscope.results.sentences import UNKNOWN_ROLE, of_roles, remarks_of
from isoscope.verbs.threshold.names import (
    IN_SEARCH,
    LEVEL,
    PER_QUERY,
    RANDOM,
    SCORE,
    SHARE_ABOVE,
    THRESHOLD,
)
from isoscope.verbs.threshold.text import (
    CHANGE,
    EXCLUDED,
    HIGH,
    NORMS,
    RANDOM_PAIRS,
    RATE,
    SCORES,
    WARNING,
    corrections_of,
    counted_matches,
    precise,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row
    from isoscope.results.sentences import Sentence

# Expected chance matches per query from which on a score is called so.
WORDS = {"rare": 0.0, "uncommon": 0.1, "common": 1.0}

# How thresholds for few chance matches are called.
LINES = {
    "10-per-query": "10 chance matches per query",
    "1-per-query": "1 chance match per query",
    "0.1-per-query": "1 chance match in 10 queries",
}
PERCENTILES = {
    "99%": "1 % of random pairs",
    "99.9%": "0.1 % of random pairs",
}

# Spaces whose thresholds are put into words.
MOST_CUTS = 2


def threshold_screen(result: Result) -> Screen:
    """Return the screen of thresholds."""
    labelled = [row for row in result.rows if not row.measure.startswith(RANDOM)]
    random = [row for row in result.rows if row.measure.startswith(RANDOM)]
    first = random[0]
    said = remarks_of(result)
    own = [row for row in random if row.correction == first.correction]
    asked = [row for row in own if SCORE in row.extra]
    how = first.protocol.split(", seed")[0]
    level = float(result.extra.get(LEVEL, 0.95))
    answer: list[str] = []
    body: list[list[Block]] = []
    if labelled:
        answer += about_goal(labelled, said)
        body.append([goal_table(labelled), *map(Text, of_roles(said, CHANGE))])
    answer += [" ".join(about_score(row, others_of(own), level) for row in asked)] if asked else []
    if not answer and (typical := of_roles(said, RANDOM_PAIRS, HIGH)):
        answer = [" ".join(typical)]
    if unknown := of_roles(said, UNKNOWN_ROLE):
        answer.append(" ".join(unknown))
    body.append([random_table(own)])
    density = next((one for one in result.tables if one.measure == DENSITY), None)
    if density is not None and not labelled:
        body.append([density_picture(density, [row.extra[SCORE] for row in asked])])
    noted = of_roles(said, EXCLUDED, *([HIGH] if asked or labelled else []), NORMS)
    facts = [Fact("Note", line) for line in noted]
    warned = bool(of_roles(said, WARNING))
    facts += more(result, labelled, warned=warned)
    return Screen(f"{first.subject} · {how}", answer, body, facts)


def others_of(rows: Sequence[Row]) -> float:
    """Return how many vectors a query is compared with."""
    row = next(row for row in rows if row.extra.get(SHARE_ABOVE))
    return float(row.extra[PER_QUERY]) / float(row.extra[SHARE_ABOVE])


def about_score(row: Row, others: float, level: float = 0.95) -> str:
    """Say how common a score is among random pairs, and what a query returns above it by chance.

    It is called common, uncommon or rare where its interval does not hold a limit between them.
    """
    share, matches = float(row.extra[SHARE_ABOVE]), float(row.extra[PER_QUERY])
    score = f"{row.extra[SCORE]:g}"
    low, high = (others * end for end in ends_of_share(row, level))
    words = list(WORDS)[how_common(low) : how_common(high) + 1]
    said = f"is {words[0]}" if len(words) == 1 else f"may be {words[0]} or {words[-1]}"
    if share == 0:
        none = f"none of {row.n or 0:,} random pairs lies above it"
        if len(words) == 1:
            return f"{score} {said}: {none}."
        return (
            f"{score} {said}: {none}, and a query against {others:,.0f} vectors "
            f"returns at most {counted_matches(high)} of them by chance."
        )
    around = f"{counted_matches(low)} to {counted_matches(high)}"
    about = counted_matches(matches)
    returned = about if {*around.split(" to ")} == {about} else f"{about} ({around})"
    return (
        f"{score} {said}: {in_percent(share)} of random pairs lie above it. A "
        f"query against {others:,.0f} vectors returns about {returned} of them by chance."
    )


def how_common(matches: float) -> int:
    """Return the place of the word for so many chance matches."""
    return sum(matches >= limit for limit in WORDS.values()) - 1


def ends_of_share(row: Row, level: float) -> tuple[float, float]:
    """Return the interval of the share of random pairs above a score.

    Shares of few pairs have none of their own: they get the one of pairs that share no row
    (Clopper & Pearson 1934).
    """
    if row.low is not None and row.high is not None:  # of the share below, in percent
        return 1 - row.high / 100, 1 - row.low / 100
    pairs = row.n or 0
    above, tail = round(float(row.extra[SHARE_ABOVE]) * pairs), (1 - level) / 2
    low = beta_quantile(above, pairs - above + 1, tail) if above else 0.0
    high = beta_quantile(above + 1, pairs - above, 1 - tail) if above < pairs else 1.0
    return low, high


def about_goal(rows: Sequence[Row], told: Sequence[Sentence]) -> list[str]:
    """Say which threshold reaches the first goal, and what it is worth where matches are rare."""
    first = next(row for row in rows if row.measure.endswith(THRESHOLD))
    cuts = [row for row in rows if row.measure == first.measure]
    # Of many spaces the table tells; of two, both were asked for by name.
    said = [about_cut(cut, rows) for cut in (cuts if len(cuts) <= MOST_CUTS else cuts[:1])]
    rate = of_roles(told, RATE)
    return [" ".join([*said, *of_roles(told, WARNING)]), *([" ".join(rate)] if rate else [])]


def about_cut(cut: Row, rows: Sequence[Row]) -> str:
    """Say which threshold of a space reaches a goal, and how well it does."""
    goal = cut.measure.removesuffix(THRESHOLD)
    space = "" if cut.correction == UNCORRECTED else f" after {cut.correction}"
    if cut.value is None:
        why = cut.note or "too few pairs"
        where = space or " of the vectors as they are"
        return f"No threshold{where} reaches {cut.extra['goal']}: {why}."
    scores = {row.measure: row for row in rows if row.correction == cut.correction}
    precision, recall = (
        with_interval(scores[f"{goal}/{name}"], ".2f") for name in ("precision", "recall")
    )
    return (
        f"For {cut.extra['goal']}{space}, accept a cosine of at least {cut.value:.3f}: on pairs "
        f"that it was not chosen on, the precision is {precision} and the recall {recall}."
    )


def goal_table(rows: Sequence[Row]) -> Numbers:
    """Arrange the first goal: corrections down, the threshold and how well it does across."""
    goal = next(row for row in rows if row.measure.endswith(THRESHOLD)).measure
    goal = goal.removesuffix(THRESHOLD)
    task = rows[0].measure.rpartition("/")[0]
    by_name = {(row.correction, row.measure): row for row in rows}
    in_search = any(row.measure == goal + IN_SEARCH for row in rows)
    ends = {**SCORES, IN_SEARCH.removeprefix("/"): "in a search"} if in_search else SCORES
    # F1 gives way to what a search over the store would see: there is no room for both.
    ends = {name: words for name, words in ends.items() if not in_search or name != "f1"}
    body = []
    for correction in corrections_of(list(rows)):
        cut = by_name[correction, goal + THRESHOLD]
        area = by_name.get((correction, f"{task}/auc"))
        scores = [by_name.get((correction, f"{goal}/{name}")) for name in ends]
        body.append(
            [
                "as is" if correction == UNCORRECTED else correction,
                "–" if cut.value is None else f"{cut.value:.3f}",
                *(
                    "–" if one is None or one.value is None else precise(one.value)
                    for one in scores
                ),
                "–" if area is None or area.value is None else f"{area.value:.3f}",
            ]
        )
    return Numbers(["", "cosine", *ends.values(), "AUC"], body, turn=False)


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


def more(result: Result, labelled: Sequence[Row], *, warned: bool) -> list[Fact]:
    """Return the command to run next, and where everything else is.

    Where cosines do not separate the labels (``warned``), their probabilities are not proposed.
    """
    if labelled and not warned and result.command and "--map" not in result.command:
        text = f"{result.command} --map map.json"
        step = Fact("Next", text, "write the probability of a match by cosine", command=True)
    elif labelled:
        pairs = given(result.command)[1].get("--pairs", "PAIRS.tsv")
        step = next_step(
            result, "advise", "--pairs", quoted(pairs), remark="does a correction help?"
        )
    else:
        step = next_step(result, "threshold", "--pairs", "LABELLED.csv", "--precision", "0.9")
    return [step, Fact("More", "--details  every percentile and correction     --json")]

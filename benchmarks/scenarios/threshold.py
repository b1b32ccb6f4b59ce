"""Are changes of the AUC, precisions and probabilities of ``threshold`` right?

*Random labels, no gain.* Two spaces that rank pairs equally well: "significantly" is an error.
*A true gain.* How often it is found, and how often it is denied. *Precision.* Queries, a store and
labels whose precision at every threshold is known: how often the intervals of both precisions hold
it, with labelled noes that are random and that are near misses. *Map.* Probabilities where the true
ones are known.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

import isoscope
from isoscope.tasks.datasets.own_pairs import OwnPairProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.threshold.goals import BestF1, Goal, Precision, Recall
from isoscope.verbs.threshold.labelled_pairs import LabelledPairs, PairsInFolds, score_threshold
from isoscope.verbs.threshold.score_map import probability_map
from isoscope.verbs.threshold.screen import WORDS, about_score
from isoscope.verbs.threshold.text import (
    FEWEST_OF_A_KIND,
    SMALL,
    area_change,
    relation_sentences,
)  # fmt: skip
from scenarios.scenario import LEVEL, Decisions, describe, scenario

Vector = NDArray[np.float64]

HIGHER, LOWER = "the AUC is significantly higher", "the AUC is significantly lower"
SIGNIFICANT = "the AUC is significantly higher or lower"
NEGLIGIBLE = "a significant but negligible change"
RULED_OUT = f"no significant change, and one of more than {SMALL:g} is ruled out"
NOT_RULED_OUT = f"no significant change, and one of more than {SMALL:g} is not ruled out"
NOTHING = "no statement about the AUC"
SEARCH_MISSES = "the interval of the precision in a search does not hold the true precision"
LABELLED_MISSES = (
    "the interval of the precision with the labelled noes does not hold the true precision"
)
NO_INTERVAL, NO_THRESHOLD = "no interval of the precision", "no threshold"
CERTAIN = "a probability of 0 or 1"
NOT_TOLD = "cosines do not tell yes from no"
REVERSED = "asks whether the labels are reversed"
NO_WARNING = "no warning that cosines do not tell yes from no"
WARNINGS = {
    "Cosines do not tell yes from no significantly": NOT_TOLD,
    "A no often has a higher cosine than a yes": REVERSED,
}
ONE_WORD, TWO_WORDS = "one word for a score", "two words for a score"
WRONG_WORD = "a score is called common, uncommon or rare and is not"
WORSE = "smoothed probabilities are further from the truth than without smoothing"

describe(
    "threshold",
    "The sentence about the AUC says whether a correction ranks labelled pairs better or worse. "
    "The precision with the labelled pairs that do not match is wrong in a search if these are "
    "near misses. The sentence itself says so, so that this is not counted as an error. A score is "
    "called common if at least one match per query is expected above it by chance, and rare if "
    "fewer than 0.1 are expected.",
    {
        "AUC higher / lower": (HIGHER, LOWER),
        "… of these negligible": (NEGLIGIBLE,),
        "change ruled out / not ruled out": (RULED_OUT, NOT_RULED_OUT),
        "no statement": (NOTHING,),
        "interval misses the precision: in a search / with labelled noes": (
            SEARCH_MISSES, LABELLED_MISSES,
        ),
        "no interval / no threshold": (NO_INTERVAL, NO_THRESHOLD),
        "smoothing makes a map worse": (WORSE,),
        "warns of the labels / asks whether they are reversed": (NOT_TOLD, REVERSED),
        "one word for a score / two": (ONE_WORD, TWO_WORDS),
    },
)  # fmt: skip


def said_about(sentence: str) -> set[str]:
    """Return the decisions in a sentence about the AUC."""
    if "nothing is said" in sentence or "no statement" in sentence:
        return {NOTHING}
    if "significantly higher" in sentence or "significantly lower" in sentence:
        found = {SIGNIFICANT, HIGHER if "significantly higher" in sentence else LOWER}
        return found | ({NEGLIGIBLE} if "negligible" in sentence else set())
    return {NOT_RULED_OUT if "is not ruled out" in sentence else RULED_OUT}


def add_change(
    name: str, truth: str, wrong: dict[str, float], pairs: int, yeses: float,
    apart: tuple[float, float], *, limited: bool = True,
) -> None:  # fmt: skip
    """Two spaces with a distance of yeses and noes in each.

    Without ``limited``, statements are made however few yeses there are.
    """
    rows = np.arange(2 * pairs).reshape(2, -1)  # no row is in two pairs

    @scenario("threshold", name, truth, wrong)
    def change(seed: int) -> Decisions:
        rng = np.random.default_rng(seed)
        labels = rng.random(pairs) < yeses
        labels[:2] = True, False
        noise, own = rng.normal(size=(2, pairs))
        # Two spaces of the same vectors agree on most of what they get wrong.
        spaces = {
            "none": labels * apart[0] + noise,
            "other": labels * apart[1] + 0.9 * noise + np.sqrt(1 - 0.9**2) * own,
        }
        problem = OwnPairProblem(
            "pairs:drawn", (), rows[0], rows[1], labels.astype(np.float64),
            np.full(pairs, "", object), yes_no=True,
        )  # fmt: skip
        labelled = LabelledPairs(Ground(problem, np.zeros((2, 2)), "drawn", ""), 2, seed, 0.95)
        plain, after = labelled.judge(spaces, [BestF1()])
        assert after.change is not None
        fewest = after.fewest if limited else max(after.fewest, FEWEST_OF_A_KIND)
        warned = " ".join(one.text for one in relation_sentences(plain))
        found = {words for start, words in WARNINGS.items() if warned.startswith(start)}
        return said_about(area_change(after.change, fewest)) | (found or {NO_WARNING})


ERROR = {SIGNIFICANT: LEVEL}
UNRELATED = {**ERROR, NO_WARNING: LEVEL, REVERSED: LEVEL}
RANDOM = "labels that have nothing to do with the vectors"
add_change("random labels, 300 pairs", f"{RANDOM}, half of them a yes", UNRELATED, 300, 0.5, (0, 0))
add_change(
    "random labels, 15 yeses", f"{RANDOM}, some 15 of 500 a yes", UNRELATED, 500, 0.03, (0, 0)
)
add_change(
    "no gain, 1,000 pairs", "two spaces with an AUC of 0.86", {**ERROR, REVERSED: 0.0}, 1_000, 0.4,
    (1.5, 1.5),
)  # fmt: skip
add_change("hardly related, 300 pairs", "an AUC of 0.528", {REVERSED: LEVEL}, 300, 0.5, (0.1, 0.1))
add_change(
    "gain of 0.021, 1,000 pairs", "an AUC of 0.760 and one of 0.782",
    {LOWER: LEVEL, NEGLIGIBLE: LEVEL, RULED_OUT: LEVEL}, 1_000, 0.4, (1.0, 1.1),
)  # fmt: skip
add_change(
    "gain of 0.004, 20,000 pairs", "an AUC of 0.856 and one of 0.860",
    {LOWER: LEVEL}, 20_000, 0.4, (1.5, 1.525),
)  # fmt: skip
for expected in (5, 10):
    add_change(
        f"random labels, {expected} yeses, not limited",
        f"{RANDOM}, some {expected} of 500 a yes, as if nothing were too few",
        {}, 500, expected / 500, (0, 0), limited=False,
    )  # fmt: skip


DIMENSION = 12
QUERIES = 300
NEW_QUERIES = 2_000
MATCHES = (1, 2, 3)
"""A query has one of these numbers of matches in the store, each as often."""

NOISE = 0.45
"""Of a document around its query, in each dimension; queries are standard normal."""


def add_search(name: str, truth: str, wrong: dict[str, float], *, near_misses: bool) -> None:
    """Queries with two matches in the store on average, and two labelled noes each.

    The truth is that of new queries that search the same store.
    """

    @scenario("threshold", name, truth, wrong)
    def search(seed: int) -> Decisions:
        rng = np.random.default_rng(seed)
        queries, store, pairs = drawn_search(rng, near_misses)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.csv"
            path.write_text("\n".join(["query_row,document_row,score", *pairs]) + "\n")
            result = isoscope.threshold(
                store, queries=queries, pairs=path, precision=0.9, corrections="none"
            ).result
        cut = result.value("pairs:pairs/precision-0.9/threshold")
        if cut is None:
            return {NO_THRESHOLD}
        # The store has no match for new queries, so that all these pairs are noes.
        noes = unit(rng.normal(size=(NEW_QUERIES, DIMENSION))) @ unit(store).T >= cut
        truly = precision(cut, float(np.mean(MATCHES)) / len(store), float(noes.mean()))
        row = "pairs:pairs/precision-0.9/precision-"
        return {
            *judged(result, f"{row}in-search", truly, SEARCH_MISSES),
            *judged(result, f"{row}reweighted", truly, LABELLED_MISSES),
        }


add_search(
    "precision, random noes", "labelled noes are random documents",
    {SEARCH_MISSES: LEVEL, LABELLED_MISSES: LEVEL}, near_misses=False,
)  # fmt: skip
add_search(
    "precision, near misses", "labelled noes are the documents that score highest",
    {SEARCH_MISSES: LEVEL}, near_misses=True,
)  # fmt: skip


@scenario(
    "threshold", "precision, duplicates", "400 pairs of near-duplicates in one store of 800, half "
    "of them labelled; the base rate is given", {SEARCH_MISSES: LEVEL},
)  # fmt: skip
def duplicates(seed: int) -> Decisions:
    """The truth is that of all pairs of the store."""
    rng = np.random.default_rng(seed)
    half = 400
    every = half * (2 * half - 1)
    rate = half / every
    first = rng.normal(size=(half, DIMENSION))
    store = np.concatenate([first, first + NOISE * rng.normal(size=first.shape)])
    lines = [f"{k},{half + k},1\n{k},{half + (k + 7) % half},0" for k in range(half // 2)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        path.write_text("\n".join(["row1,row2,score", *lines]) + "\n")
        result = isoscope.threshold(
            store, pairs=path, recall=0.7, corrections="none", base_rate=rate
        ).result
    cut = result.value("pairs:pairs/recall-0.7/threshold")
    assert cut is not None
    above = np.triu(unit(store) @ unit(store).T >= cut, 1)
    noes = float(above.sum() - np.diagonal(above, half).sum()) / (every - half)
    row = "pairs:pairs/recall-0.7/precision-in-search"
    return judged(result, row, precision(cut, rate, noes), SEARCH_MISSES)


def judged(result: isoscope.Result, name: str, truth: float, misses: str) -> set[str]:
    """Return whether the interval of a precision misses the truth."""
    row = result.row(name)
    if row.low is None or row.high is None:
        return {NO_INTERVAL}
    return set() if row.low <= truth <= row.high else {misses}


def precision(cut: float, rate: float, noes: float) -> float:
    """Return the true precision of a threshold that a share of all noes exceeds."""
    yes = rate * recall_at()(cut)
    return yes / (yes + (1 - rate) * noes)


def drawn_search(rng: np.random.Generator, near_misses: bool) -> tuple[Vector, Vector, list[str]]:
    """Draw queries, a store with their matches, and labelled pairs as lines of a file."""
    queries = rng.normal(size=(QUERIES, DIMENSION))
    matched = np.repeat(np.arange(QUERIES), rng.choice(MATCHES, QUERIES))
    store = queries[matched] + NOISE * rng.normal(size=(len(matched), DIMENSION))
    scores = unit(queries) @ unit(store).T
    own = matched[None, :] == np.arange(QUERIES)[:, None]
    order = np.where(own, -np.inf, scores if near_misses else rng.random(scores.shape))
    noes = np.argsort(-order, axis=1)[:, :2]
    lines = [f"{query},{document},1" for document, query in enumerate(matched)]
    lines += [f"{query},{document},0" for query, row in enumerate(noes) for document in row]
    return queries, store, lines


@cache
def recall_at(size: int = 400_000) -> Callable[[float], float]:
    """Return the share of matches with a cosine of at least a threshold, as a function of it."""
    rng = np.random.default_rng(10**6)
    queries = rng.normal(size=(size, DIMENSION))
    matches = queries + NOISE * rng.normal(size=(size, DIMENSION))
    cosines = np.sort((unit(queries) * unit(matches)).sum(axis=1))
    return lambda cut: 1 - float(np.searchsorted(cosines, cut)) / size


def unit(rows: Vector) -> Vector:
    """Divide rows by their norms."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@scenario(
    "threshold", "map of 100 pairs", "scores of yeses and noes are normal, 2 apart, half of each",
    {CERTAIN: 0.0},
)  # fmt: skip
def probabilities(seed: int) -> Decisions:
    """Compare probabilities with the true ones, and with those without smoothing."""
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(seed)
    grid = np.linspace(-2, 4, 61)
    density = norm.pdf(grid) + norm.pdf(grid - 2)
    truth = norm.pdf(grid - 2) / density
    labels = rng.random(100) < 0.5
    labels[:2] = True, False
    scores = rng.normal(size=100) + 2 * labels
    smoothed = probability_map(scores, labels, "none")(grid, outside="clip")
    alone = IsotonicRegression(out_of_bounds="clip").fit(scores, labels).predict(grid)
    errors = [float(np.average((said - truth) ** 2, weights=density)) for said in (smoothed, alone)]
    found = {CERTAIN} if smoothed.min() <= 0 or smoothed.max() >= 1 else set()
    return found | ({WORSE} if errors[0] > errors[1] else set())


def add_confident(goal: Goal, pairs: int, yeses: float, apart: float) -> None:
    """A threshold that reaches a goal with a confidence, for pairs with normal cosines."""
    below = f"the threshold for {goal.words} does not reach it"
    name = f"{goal.words}, {pairs:,} pairs"

    @scenario("threshold", name, f"{yeses:.0%} yeses, {apart:g} spreads above", {below: LEVEL})
    def confident(seed: int) -> Decisions:
        rng = np.random.default_rng(seed)
        labels = rng.random(pairs) < yeses
        cosines = rng.normal(size=pairs) + apart * labels
        folds = [np.sort(one) for one in np.array_split(rng.permutation(pairs), 5)]
        rows = np.arange(2 * pairs).reshape(2, -1)
        cut = score_threshold(goal, PairsInFolds(cosines, labels, rows[0], rows[1], folds))
        threshold = cut.chosen.threshold
        if threshold is None:
            return {NO_THRESHOLD}
        yes, no = yeses * norm.sf(threshold - apart), (1 - yeses) * norm.sf(threshold)
        reached = yes / yeses if isinstance(goal, Recall) else yes / (yes + no)
        return {below} if reached < 0.9 else set()


add_confident(Precision(0.9, 0.95), 1_000, 0.4, 2.5)
add_confident(Recall(0.9, 0.95), 300, 0.4, 2.0)


@cache
def uneven_scores() -> dict[str, float]:
    """Return the scores that give 0.03, 0.3 and 3 matches among 1,000 vectors, by their words."""
    rows = uneven_rows(np.random.default_rng(10**6), 8_000)
    cosines = np.sort((rows @ rows.T)[np.triu_indices(len(rows), 1)])
    shares = dict(zip(WORDS, (3e-5, 3e-4, 3e-3), strict=True))
    return {word: float(cosines[int((1 - share) * len(cosines))]) for word, share in shares.items()}


def uneven_rows(rng: np.random.Generator, count: int) -> Vector:
    """Unit rows of ten clusters in a space with uneven variances."""
    centres = np.random.default_rng(0).normal(size=(10, 24))
    rows = centres[rng.integers(0, 10, count)] + 1.5 * rng.normal(size=(count, 24))
    return unit(rows * np.arange(1, 25) ** -0.5)


def add_score_words(rows: int) -> None:
    """Scores whose number of chance matches is three times what the word begins at, or a third."""

    @scenario(
        "threshold", f"words for scores, {rows:,} rows", "0.03, 0.3 and 3 matches among 1,000 "
        "vectors, in turn", {WRONG_WORD: LEVEL},
    )  # fmt: skip
    def words(seed: int) -> Decisions:
        true, score = list(uneven_scores().items())[seed % 3]
        drawn = uneven_rows(np.random.default_rng(seed), rows)
        result = isoscope.threshold(
            drawn, at=[score], corrections="none", store_size=1_001, seed=seed
        ).result
        row = next(one for one in result.rows if one.extra.get("score") == score)
        said = about_score(row, 1_000).partition(":")[0]
        first, *more = (list(WORDS).index(word) for word in said.split() if word in WORDS)
        holds = first <= list(WORDS).index(true) <= max([first, *more])
        return {TWO_WORDS if more else ONE_WORD} | (set() if holds else {WRONG_WORD})


for sampled in (150, 1_000):
    add_score_words(sampled)

"""Error rates of what ``isoscope threshold`` says, on data where the truth is known.

One function per scenario: it takes the number of draws and returns how often each decision was
made, and the truth that it should be compared with.

*Random labels, no gain.* Two spaces that rank pairs equally well: "significantly" is an error, with
a nominal rate of 5 %. *A true gain.* How often it is found, and how often the opposite is said.
*Precision.* Queries, a store and labels whose precision at every threshold is known: how often the
intervals of both precisions hold it, with labelled noes that are random and that are near misses.
*Map.* Mean squared error of probabilities against the true ones, with and without smoothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

import isoscope
from isoscope.tasks.datasets.own_pairs import OwnPairProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.threshold.goals import BestF1
from isoscope.verbs.threshold.labelled_pairs import LabelledPairs
from isoscope.verbs.threshold.score_map import probability_map
from isoscope.verbs.threshold.text import FEWEST_OF_A_KIND, area_change

Vector = NDArray[np.float64]
Counts = dict[str, int]

DECISIONS = {
    "nothing is said": "no statement",
    "negligible": "significant but negligible",
    "significantly higher": "significantly higher",
    "significantly lower": "significantly lower",
    "is not ruled out": "not significant, not ruled out",
    "is ruled out": "not significant, ruled out",
}
"""What a sentence contains, and the decision that this is; the first that fits."""


def decided(sentence: str) -> str:
    """Return the decision in a sentence."""
    return next((name for words, name in DECISIONS.items() if words in sentence), "no statement")


def changes(
    draws: int, pairs: int, yeses: float, apart: tuple[float, float], *, limited: bool = True
) -> Counts:
    """Count what is said about the AUC of two spaces, by the distance of yeses and noes in each.

    Without ``limited``, statements are made however few yeses there are.
    """
    rng = np.random.default_rng(5)
    found: Counter[str] = Counter()
    rows = np.arange(2 * pairs).reshape(2, -1)  # no row is in two pairs
    problem = OwnPairProblem(
        "pairs:drawn", (), rows[0], rows[1], (np.arange(pairs) % 2).astype(np.float64),
        np.full(pairs, "", object), yes_no=True,
    )  # fmt: skip
    labelled = LabelledPairs(Ground(problem, np.zeros((2, 2)), "drawn", ""), 2, 0, 0.95)
    for _ in range(draws):
        labels = rng.random(pairs) < yeses
        labels[:2] = True, False
        noise, own = rng.normal(size=(2, pairs))
        # Two spaces of the same vectors agree on most of what they get wrong.
        spaces = {
            "none": labels * apart[0] + noise,
            "other": labels * apart[1] + 0.9 * noise + np.sqrt(1 - 0.9**2) * own,
        }
        labelled.labels = labels  # folds do not depend on labels
        _, after = labelled.judge(spaces, [BestF1()])
        assert after.change is not None
        fewest = after.fewest if limited else max(after.fewest, FEWEST_OF_A_KIND)
        found[decided(area_change(after.change, fewest))] += 1
    return dict(found)


def random_labels(draws: int) -> Counts:
    """Labels that have nothing to do with the vectors: 300 pairs, half of them a yes."""
    return changes(draws, 300, 0.5, (0.0, 0.0))


def random_labels_about_5_yeses(draws: int) -> Counts:
    """Random labels with some 5 yeses among 500 pairs, as if nothing were too few."""
    return changes(draws, 500, 0.01, (0.0, 0.0), limited=False)


def random_labels_about_10_yeses(draws: int) -> Counts:
    """Random labels with some 10 yeses among 500 pairs, as if nothing were too few."""
    return changes(draws, 500, 0.02, (0.0, 0.0), limited=False)


def no_gain(draws: int) -> Counts:
    """Two spaces with an AUC of 0.86 each: 1,000 pairs."""
    return changes(draws, 1_000, 0.4, (1.5, 1.5))


def random_labels_rare_yeses(draws: int) -> Counts:
    """Labels that have nothing to do with the vectors: some 15 yeses among 500 pairs."""
    return changes(draws, 500, 0.03, (0.0, 0.0))


def gain(draws: int) -> Counts:
    """A true gain of 0.021: from an AUC of 0.760 to one of 0.782, 1,000 pairs."""
    return changes(draws, 1_000, 0.4, (1.0, 1.1))


def negligible_gain(draws: int) -> Counts:
    """A true gain of 0.004, 20,000 pairs: it is found, and should be called negligible."""
    return changes(draws, 20_000, 0.4, (1.5, 1.525))


DIMENSION = 12
QUERIES = 300
NEW_QUERIES = 2_000
MATCHES = (1, 2, 3)
"""A query has one of these numbers of matches in the store, each as often."""

NOISE = 0.45
"""Of a document around its query, in each dimension; queries are standard normal."""


def precision_coverage(draws: int, near_misses: bool) -> Counts:
    """Count how often the intervals of both precisions hold the true one of the chosen threshold.

    A query has two matches in the store on average, and two labelled noes: random documents, or
    those that score highest. The truth is that of new queries that search the same store.
    """
    rng = np.random.default_rng(6)
    recall_at = recalls(rng)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        for _ in range(draws):
            queries, store, pairs = drawn_search(rng, near_misses)
            path.write_text("\n".join(["query_row,document_row,score", *pairs]) + "\n")
            result = isoscope.threshold(
                store, queries=queries, pairs=path, precision=0.9, corrections="none"
            ).result
            cut = result.value("pairs:pairs/precision-0.9/threshold")
            if cut is None:
                found["no threshold"] += 1
                continue
            # The store has no match for new queries, so that all these pairs are noes.
            noes = unit(rng.normal(size=(NEW_QUERIES, DIMENSION))) @ unit(store).T >= cut
            rate = float(np.mean(MATCHES)) / len(store)
            yes = rate * recall_at(cut)
            truth = yes / (yes + (1 - rate) * float(noes.mean()))
            for name in ("reweighted", "in-search"):
                row = result.row(f"pairs:pairs/precision-0.9/precision-{name}")
                if row.low is None or row.high is None:
                    found[f"{name}: no interval"] += 1
                else:
                    place = "holds" if row.low <= truth <= row.high else "misses"
                    found[f"{name}: {place}"] += 1
    return dict(found)


def precision_one_store(draws: int) -> Counts:
    """Near-duplicates in one store of 800, whose base rate is given: 200 of 400 are labelled.

    The truth is that of all pairs of the store.
    """
    rng = np.random.default_rng(8)
    recall_at = recalls(rng)
    found: Counter[str] = Counter()
    half = 400
    every = half * (2 * half - 1)
    rate = half / every
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        for _ in range(draws):
            first = rng.normal(size=(half, DIMENSION))
            store = np.concatenate([first, first + NOISE * rng.normal(size=first.shape)])
            lines = [f"{k},{half + k},1\n{k},{half + (k + 7) % half},0" for k in range(half // 2)]
            path.write_text("\n".join(["row1,row2,score", *lines]) + "\n")
            result = isoscope.threshold(
                store, pairs=path, recall=0.7, corrections="none", base_rate=rate
            ).result
            cut = result.value("pairs:pairs/recall-0.7/threshold")
            assert cut is not None
            above = np.triu(unit(store) @ unit(store).T >= cut, 1)
            noes = float(above.sum() - np.diagonal(above, half).sum()) / (every - half)
            yes = rate * recall_at(cut)
            truth = yes / (yes + (1 - rate) * noes)
            row = result.row("pairs:pairs/recall-0.7/precision-in-search")
            if row.low is None or row.high is None:
                found["in-search: no interval"] += 1
            else:
                place = "holds" if row.low <= truth <= row.high else "misses"
                found[f"in-search: {place}"] += 1
    return dict(found)


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


def recalls(rng: np.random.Generator, size: int = 400_000) -> Callable[[float], float]:
    """Return the share of matches with a cosine of at least a threshold, as a function of it."""
    queries = rng.normal(size=(size, DIMENSION))
    matches = queries + NOISE * rng.normal(size=(size, DIMENSION))
    cosines = np.sort((unit(queries) * unit(matches)).sum(axis=1))
    return lambda cut: 1 - float(np.searchsorted(cosines, cut)) / size


def unit(rows: Vector) -> Vector:
    """Divide rows by their norms."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def precision_random_noes(draws: int) -> Counts:
    """Labelled noes are random documents: both precisions should hold the truth."""
    return precision_coverage(draws, near_misses=False)


def precision_near_misses(draws: int) -> Counts:
    """Labelled noes are near misses: only the one for a search should hold the truth."""
    return precision_coverage(draws, near_misses=True)


def probability_errors(draws: int) -> dict[str, float]:
    """Mean squared error of probabilities against the true ones, 100 pairs, half of them a yes."""
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(7)
    grid = np.linspace(-2, 4, 61)
    density = norm.pdf(grid) + norm.pdf(grid - 2)
    truth = norm.pdf(grid - 2) / density
    errors = {"smoothed": 0.0, "isotonic alone": 0.0}
    for _ in range(draws):
        labels = rng.random(100) < 0.5
        labels[:2] = True, False
        scores = rng.normal(size=100) + 2 * labels
        smoothed = probability_map(scores, labels, "none")(grid, outside="clip")
        alone = IsotonicRegression(out_of_bounds="clip").fit(scores, labels).predict(grid)
        for name, said in (("smoothed", smoothed), ("isotonic alone", alone)):
            errors[name] += float(np.average((said - truth) ** 2, weights=density)) / draws
    return errors


SCENARIOS: tuple[Callable[[int], Counts], ...] = (
    random_labels,
    no_gain,
    random_labels_rare_yeses,
    random_labels_about_5_yeses,
    random_labels_about_10_yeses,
    gain,
    negligible_gain,
    precision_random_noes,
    precision_near_misses,
    precision_one_store,
)


def main() -> None:
    """Print the counts of every scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    draws = parser.parse_args().draws
    for scenario in SCENARIOS:
        print(f"{scenario.__name__} ({draws} draws): {scenario(draws)}", flush=True)
    print(f"probability_errors ({draws} draws): {probability_errors(draws)}")


if __name__ == "__main__":
    main()

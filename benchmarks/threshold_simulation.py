"""Do chosen thresholds reach what they promise, and do their intervals hold the truth?

Labelled pairs are drawn many times from distributions whose precision and recall are known at every
threshold. Random pairs are drawn from clouds whose shares were counted on far more rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from isoscope.compute.stats.estimates import Estimate
from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.verbs.threshold.goals import BestF1, Goal, Precision, Recall
from isoscope.verbs.threshold.labelled_pairs import PairsInFolds, ThresholdScores, score_threshold

Vector = NDArray[np.float64]

WANTED = 0.9
FOLDS = 5
TRUTH_ROWS = 12_000
CLOUD_ROWS = 500
WIDTH = 16
SHARES = (0.05, 0.01, 0.001)


@dataclass(frozen=True)
class Design:
    """Pairs whose cosines are normal: noes around 0, yeses around ``apart``, in spreads."""

    pairs: int
    yeses: float
    apart: float

    def draw(self, rng: np.random.Generator) -> tuple[Vector, NDArray[np.bool_]]:
        """Draw cosines and labels."""
        labels = rng.random(self.pairs) < self.yeses
        return rng.normal(size=self.pairs) + self.apart * labels, labels

    def accepted(self, threshold: float) -> tuple[float, float]:
        """Shares of all pairs that are accepted yeses, and accepted noes."""
        yes = self.yeses * float(norm.sf(threshold - self.apart))
        return yes, (1 - self.yeses) * float(norm.sf(threshold))


DESIGNS = (
    Design(300, 0.4, 2.0),
    Design(1_000, 0.3, 1.5),
    Design(1_000, 0.1, 2.5),
    Design(1_000, 0.4, 2.5),
    Design(5_000, 0.2, 1.5),
)


def truth(
    design: Design, cut: ThresholdScores, folds: list[NDArray[np.intp]]
) -> tuple[float, float, float]:
    """Precision, recall and F1 of the thresholds of all folds on pairs without end."""
    yes = no = 0.0
    for held, threshold in zip(folds, cut.by_fold, strict=True):
        assert threshold is not None
        more = design.accepted(threshold)
        yes, no = yes + len(held) * more[0], no + len(held) * more[1]
    total = sum(map(len, folds)) * design.yeses
    return yes / (yes + no), yes / total, 2 * yes / (yes + no + total)


def labelled(design: Design, goal: Goal, runs: int) -> str:
    rng = np.random.default_rng(1)
    final: list[float] = []
    promised: list[tuple[float, float, float]] = []
    held: list[list[bool]] = []
    missing = 0
    for _ in range(runs):
        cosines, labels = design.draw(rng)
        order = rng.permutation(design.pairs)
        folds = [np.sort(order[k::FOLDS]) for k in range(FOLDS)]
        rows = np.arange(2 * design.pairs).reshape(2, -1)  # no row is in two pairs
        cut = score_threshold(goal, PairsInFolds(cosines, labels, rows[0], rows[1], folds))
        if cut.chosen.threshold is None or None in cut.by_fold:
            missing += 1
            continue
        yes, no = design.accepted(cut.chosen.threshold)
        final.append(yes / design.yeses if isinstance(goal, Recall) else yes / (yes + no))
        truths = truth(design, cut, folds)
        promised.append(truths)
        held.append([holds(score, true) for score, true in zip(
            (cut.precision, cut.recall, cut.f1), truths, strict=True)])  # fmt: skip
    if not final:
        return f"{describe(design)}  {goal.words:32}  none found in {runs} runs"
    means = np.mean(promised, axis=0)
    cover = 100 * np.mean(held, axis=0)
    reached = 100 * float(np.mean(np.array(final) >= WANTED))
    return (
        f"{describe(design)}  {goal.words:32} {missing:4d}   "
        f"{np.mean(final):.3f} {reached:5.1f} %   "
        f"{means[0]:.3f} {means[1]:.3f} {means[2]:.3f}   "
        f"{cover[0]:5.1f} {cover[1]:5.1f} {cover[2]:5.1f} %"
    )


def holds(score: Estimate, true: float) -> bool:
    return score.low is not None and score.high is not None and score.low <= true <= score.high


def describe(design: Design) -> str:
    return f"{design.pairs:5,d} pairs, {design.yeses:3.0%} yes, {design.apart:.1f} apart"


def offset_cloud(rng: np.random.Generator, rows: int) -> Vector:
    return rng.normal(size=(rows, WIDTH)) + 1.0


def uneven_cloud(rng: np.random.Generator, rows: int) -> Vector:
    """Half of the variance in one direction, lengths with heavy tails."""
    made = rng.normal(size=(rows, WIDTH))
    made[:, 0] *= 4.0
    return np.asarray(made * rng.lognormal(0, 1, (rows, 1)) + 0.5)


def clustered_cloud(rng: np.random.Generator, rows: int) -> Vector:
    """Ten clusters: pairs of one cluster make the tail."""
    centres = np.random.default_rng(0).normal(size=(10, WIDTH)) * 2
    return np.asarray(centres[rng.integers(0, 10, rows)] + rng.normal(size=(rows, WIDTH)))


def random_pairs(draw: Callable[..., Vector], runs: int, *, two_sided: bool) -> list[str]:
    rng = np.random.default_rng(2)
    large = RandomPairs.of(draw(rng, TRUTH_ROWS), draw(rng, TRUTH_ROWS))
    scores = [large.score_at(share).value or 0.0 for share in SHARES]
    shares = [large.share_above(score).value or 0.0 for score in scores]
    inside = np.zeros((2, len(SHARES)))
    for _ in range(runs):
        rows = draw(rng, CLOUD_ROWS)
        found = RandomPairs.of(rows, draw(rng, CLOUD_ROWS) if two_sided else None)
        for k, (share, score) in enumerate(zip(shares, scores, strict=True)):
            inside[0, k] += holds(found.share_above(score), share)
            inside[1, k] += holds(found.score_at(share), score)
    cover = 100 * inside / runs
    kind = "queries and rows" if two_sided else "one cloud"
    name = f"{draw.__name__.replace('_', ' ')}, {kind}"
    return [
        f"{name:34} {what:16}" + "  ".join(f"{value:5.1f} %" for value in values)
        for what, values in zip(("share above", "score"), cover, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    runs = parser.parse_args().runs
    print(f"{runs} runs; wanted {WANTED}; {FOLDS} folds")
    print(
        "design, goal, runs without a threshold, what the final threshold reaches (mean, share "
        "of runs that reach it), true precision, recall, F1 of fold thresholds, coverage of their "
        "95 % intervals"
    )
    goals = (
        Precision(WANTED), Recall(WANTED), BestF1(), Precision(WANTED, 0.95), Recall(WANTED, 0.95)
    )  # fmt: skip
    for goal in goals:
        for design in DESIGNS:
            print(labelled(design, goal, runs), flush=True)
    print(
        f"\nrandom pairs of {CLOUD_ROWS} rows: coverage at {', '.join(f'{s:.1%}' for s in SHARES)}"
    )
    for draw in (offset_cloud, uneven_cloud, clustered_cloud):
        for two_sided in (False, True):
            for line in random_pairs(draw, runs, two_sided=two_sided):
                print(line, flush=True)


if __name__ == "__main__":
    main()

"""Does the verdict of ``measure`` name the cause that a cloud was drawn with, and no other?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import isoscope
from scenarios.clouds import (
    Matrix,
    even,
    of_rank,
    shifted,
    with_dead,
    with_long_row,
    with_outlier,
    with_uneven_lengths,
)  # fmt: skip
from scenarios.scenario import LEVEL, Decisions, describe, scenario

# What the verdict needs, and nothing else.
MEASURES = ("mean_cosine", "effective_rank", "outlier_dimensions", "dead_dimensions")

NOTHING, UNDECIDED = "nothing stands out", "undecided"
SOME_CAUSE = "any cause"
ANOTHER_CAUSE, ANOTHER_GRADE = "another cause than the true one", "the cause with another grade"
RIGHT = "the true cause with its grade"
OWN, SHARED, NO_STATEMENT = (
    "queries have a centre of their own", "queries and documents share a centre",
    "no statement on a centre of the queries",
)  # fmt: skip

describe(
    "measure",
    "The limits of every cause are in [the verdict](../verdict.md). The clouds are at some "
    "distance from the limits, because at a limit neither of the two grades is wrong. The last "
    "rows are about `--queries`, `--neighbours` and `--reduce`.",
    {
        "true cause and grade": (RIGHT,),
        "nothing stands out": (NOTHING,),
        "undecided": (UNDECIDED,),
        "another cause / another grade": (ANOTHER_CAUSE, ANOTHER_GRADE),
        "any cause": (SOME_CAUSE,),
        "centre of queries: own / shared / no statement": (OWN, SHARED, NO_STATEMENT),
    },
)


def add_cloud(
    name: str, truth: str, cloud: Callable[[np.random.Generator], Matrix],
    cause: str = "none", grade: str = "none",
) -> None:  # fmt: skip
    """Register clouds whose cause is known; ``none`` for those that are evenly filled."""
    wrong = {NOTHING: LEVEL, ANOTHER_CAUSE: LEVEL, ANOTHER_GRADE: LEVEL}
    if cause == "none":
        wrong = {SOME_CAUSE: LEVEL}
    elif cause == UNDECIDED:
        wrong = {NOTHING: 0.0, SOME_CAUSE: LEVEL}

    @scenario("measure", name, truth, wrong)
    def verdict(seed: int) -> Decisions:
        drawn = cloud(np.random.default_rng(seed))
        found = isoscope.measure(drawn, MEASURES, ["none"]).verdicts[0]
        assert found["sentence"].startswith("Nothing stands out") == (found["cause"] == "none")
        assert found["sentence"].startswith("Undecided") == (found["cause"] == "undecided")
        if found["cause"] == "none":
            return {NOTHING}
        if found["cause"] == "undecided":
            return {UNDECIDED}
        if found["cause"] != cause:
            return {SOME_CAUSE, ANOTHER_CAUSE}
        return {SOME_CAUSE, RIGHT if found["grade"] == grade else ANOTHER_GRADE}


def add_even(rows: int, dimension: int, decay: float) -> None:
    fall = ", variances as 1/k" if decay else ""
    add_cloud(
        f"even, {rows:,} × {dimension}{fall}", "an evenly filled cloud around zero",
        lambda random: even(random, rows, dimension, decay),
    )  # fmt: skip


for width, falling in ((64, 0.0), (384, 0.0), (64, 1.0)):
    for count in (250, 500, 2_000):
        add_even(count, width, falling)
add_cloud(
    "even, 20 × 3", "an evenly filled cloud of too few rows",
    lambda random: even(random, 20, 3), UNDECIDED,
)  # fmt: skip


def add_offset(rows: int, dimension: int, cosine: float, cause: str, grade: str) -> None:
    add_cloud(
        f"offset, {rows:,} × {dimension}, mean cosine {cosine:g}",
        "an even cloud with an offset in a random direction",
        lambda random: shifted(random, even(random, rows, dimension), cosine), cause, grade,
    )  # fmt: skip


for count, width in ((250, 64), (500, 384)):
    add_offset(count, width, 0.05, "none", "none")
    add_offset(count, width, 0.2, "common offset", "mild")
    add_offset(count, width, 0.6, "common offset", "strong")
add_offset(500, 16, 0.5, "common offset", "strong")


def add_outlier(rows: int, dimension: int, share: float, cause: str, grade: str) -> None:
    add_cloud(
        f"outlier, {rows:,} × {dimension}, {share:g} of the variance",
        "an even cloud, but one dimension has this share of the variance",
        lambda random: with_outlier(random, even(random, rows, dimension), share), cause, grade,
    )  # fmt: skip


for count in (250, 500):
    add_outlier(count, 384, 0.03, "none", "none")
    add_outlier(count, 384, 0.15, "outlier dimensions", "mild")
    add_outlier(count, 384, 0.4, "outlier dimensions", "strong")


def add_rank(rank: int, cause: str, grade: str) -> None:
    add_cloud(
        f"rank {rank} of 64, 500 rows", "a cloud that fills so many directions evenly",
        lambda random: of_rank(random, 500, 64, rank), cause, grade,
    )  # fmt: skip


add_rank(32, "none", "none")
add_rank(10, "low rank", "mild")
add_rank(4, "low rank", "strong")


def add_cause(name: str, cause: str, grade: str, change: Callable[..., Matrix]) -> None:
    """Register an even cloud of 500 × 64 that is changed in one way."""
    add_cloud(
        f"{name}, 500 × 64", "an even cloud, changed in this way",
        lambda random: change(random, even(random, 500, 64)), cause, grade,
    )  # fmt: skip


add_cause(
    "mean cosine 0.9", "common offset", "strong", lambda random, cloud: shifted(random, cloud, 0.9)
)
add_cause(
    "mean cosine 0.98", "collapsed", "strong", lambda random, cloud: shifted(random, cloud, 0.98)
)
add_cause("one row 30 times as long", "long vectors", "strong", with_long_row)
add_cause("short rows share a direction", "uneven lengths", "mild", with_uneven_lengths)
add_cause("three constant dimensions", "dead dimensions", "mild", with_dead)
add_cause("one row, 500 times", "constant", "strong", lambda _, cloud: np.repeat(cloud[:1], 500, 0))

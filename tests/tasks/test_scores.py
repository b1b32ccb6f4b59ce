"""Rows of the scores of a problem."""

from __future__ import annotations

import numpy as np

from isoscope.results.fields import MAIN
from isoscope.tasks.problems.pairs import ScoredPairs
from isoscope.tasks.registry import TextPair
from isoscope.tasks.scores import problem_rows


def test_the_score_that_decides_is_marked_in_every_space() -> None:
    pairs = [TextPair(f"a {k}", f"b {k}", float(k), "one" if k < 6 else "two") for k in range(12)]
    problem = ScoredPairs.of("mine", pairs)
    outputs = dict(
        zip(("none", "center"), np.random.default_rng(0).uniform(-1, 1, (2, 12)), strict=True)
    )
    rows = problem_rows(("model", "block 1"), problem, outputs, np.arange(12), "how", 0.95)
    marked = [(row.measure, row.correction) for row in rows if row.extra.get(MAIN)]
    assert marked == [("mine/cosine/spearman", "none"), ("mine/cosine/spearman", "center")]
    assert len(rows) == 3 * len({row.measure for row in rows if "difference" not in row.measure})

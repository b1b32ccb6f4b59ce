"""Evaluations with planted relations, for tests of relating isotropy and scores."""

from __future__ import annotations

import numpy as np

from isoscope.results.fields import KIND, MAIN, SCORES
from isoscope.results.result import Result, Row

CORRECTIONS = ("none", "center", "whiten", "standardize")


def evaluation(
    scores: np.ndarray, powers: np.ndarray, model: str = "m", task: str = "sts-b"
) -> Result:
    """Return rows as ``evaluate`` does, from a number for every layer and correction.

    ``i1_scaled`` is ten to the power given, ``mean_cosine`` falls with it, and ``mean_norm`` is the
    score. A score that is NaN is undefined.
    """
    rows: list[Row] = []
    for (k, c), score in np.ndenumerate(scores):
        where, power = (model, f"block {k + 1}", CORRECTIONS[c]), float(powers[k, c])
        value = None if np.isnan(score) else float(score)
        rows += [
            Row(*where, f"{task}/cosine/spearman", value, n=9, extra={"unit": "pairs", MAIN: True}),
            Row(*where, f"{task}/cosine/pearson", 0.5, n=9, extra={"unit": "pairs"}),
            Row(*where, f"{task}/mean_cosine", -power),
            Row(*where, f"{task}/i1_scaled", 10.0**power, log10=power),
            Row(*where, f"{task}/mean_norm", value),
            Row(*where, f"{task}/seconds", float(k), extra={"unit": "seconds"}),
        ]
    return Result(rows, seeds={"seed": 0}, extra={KIND: SCORES, "models": {model: {}}})

"""Scores beside isotropy, out of rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.results.fields import MAIN, PART_OF_TASK
from isoscope.results.result import Result, Row
from isoscope.verbs.evaluate.relation import scored_spaces


def score(name: str, value: float | None, correction: str = "none", **extra: object) -> Row:
    return Row("m", "block 1", correction, name, value, extra={"unit": "pairs", **extra})


def isotropy(name: str, value: float, correction: str = "none", log10: float | None = None) -> Row:
    return Row("m", "block 1", correction, name, value, log10=log10)


def test_rows_are_told_apart() -> None:
    rows = [
        score("cola/logistic/accuracy", 0.7),
        score("cola/logistic/matthews", 0.3, **{MAIN: True}),
        score("cola/news/logistic/matthews", 0.9, **{PART_OF_TASK: "news"}),
        isotropy("cola/mean_cosine", 0.5),
        isotropy("cola/i1_scaled", 0.2, log10=math.log10(0.2)),
        score("cola/seconds", 3.0),
        score("cola/logistic/matthews", 0.4, "center", **{MAIN: True}),
        score("cola/logistic/matthews/difference", 0.1, "center"),
        isotropy("cola/mean_cosine", 0.25, "center"),
        score("men/cosine/spearman", 0.1),
    ]
    (found,) = scored_spaces([Result(rows[:5]), Result(rows[2:])])
    assert (found.task, found.score) == ("cola", "cola/logistic/matthews")
    assert list(found.isotropy) == ["mean_cosine", "i1_scaled"]
    assert found.score_values().tolist() == [0.3, 0.4]
    assert found.isotropy_values("mean_cosine").tolist() == [-0.5, -0.25]
    assert found.isotropy_values("i1_scaled")[0] == math.log10(0.2)
    assert np.isnan(found.isotropy_values("i1_scaled")[1])
    first, second = found.table_rows()
    assert first["correction"] == "none"
    assert first["i1_scaled"] == 0.2
    assert first["i1_scaled_log10"] == math.log10(0.2)
    assert second["value"] == 0.4
    assert second["mean_cosine"] == 0.25
    assert second["i1_scaled"] is None


def test_the_first_score_decides_where_none_is_marked() -> None:
    rows = [score("t/cosine/spearman", 0.1), score("t/cosine/pearson", 0.2), isotropy("t/i2", 1.0)]
    assert scored_spaces([Result(rows)])[0].score == "t/cosine/spearman"


def test_names_with_slashes_options_and_parts_of_measures_are_kept() -> None:
    rows = [
        score("retrieval:a/ndcg@10", 0.1),
        score("retrieval:a/b/ndcg@10", 0.2),
        isotropy("retrieval:a/mean_cosine", 0.3),
        isotropy("retrieval:a/b/hubness:k=5/skew", 0.4),
    ]
    one, other = scored_spaces([Result(rows)])
    assert (one.score, list(one.isotropy)) == ("retrieval:a/ndcg@10", ["mean_cosine"])
    assert (other.score, list(other.isotropy)) == ("retrieval:a/b/ndcg@10", ["hubness:k=5/skew"])


def test_undefined_is_not_a_number() -> None:
    rows = [score("t/cosine/spearman", None), isotropy("t/i2", math.inf)]
    (found,) = scored_spaces([Result(rows)])
    assert np.isnan(found.score_values()).all()
    assert np.isnan(found.isotropy_values("i2")).all()


def test_two_values_or_no_isotropy_are_refused() -> None:
    rows = [score("t/cosine/spearman", 0.1), isotropy("t/i2", 1.0)]
    assert len(scored_spaces([Result(rows), Result(rows)])[0].scores) == 1
    with pytest.raises(UsageError, match="two values of t/i2 for m, block 1, none"):
        scored_spaces([Result(rows), Result([isotropy("t/i2", 2.0)])])
    with pytest.raises(UsageError, match="no scores with isotropy beside them"):
        scored_spaces([Result(rows[:1])])
    with pytest.raises(UsageError, match="no scores with isotropy beside them"):
        scored_spaces([Result(rows[1:])])

"""Sentences of a profile: what they say depends on the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from isoscope.results.result import Result, Row, Table
from isoscope.verbs.profile.verdict import (
    massive_sentences,
    other_outliers,
    outlier_sentences,
    profile_verdict,
)

LAYERS = ("embedding", "block 1", "block 2")


def with_massive(*counts: tuple[int, int]) -> Result:
    """Layers whose top component is that of their massive tokens, by count and number of tokens."""
    rows = []
    for number, (count, tokens) in enumerate(counts, 1):
        part = f"block {number}"
        rows += [
            Row("m", part, "none", "top_variance_share", 0.9 + number / 100, n=tokens),
            Row("m", f"{part}, ordinary tokens", "none", "top_variance_share", 0.1, n=tokens),
            Row("m", part, "none", "massive_activations/count", float(count), n=tokens),
        ]
    return Result(rows)


def massive_sentence(*counts: tuple[int, int]) -> str:
    found = with_massive(*counts)
    known = {(row.part, row.measure): row.value for row in found.rows if row.value is not None}
    (sentence,) = massive_sentences(LAYERS, known, found)
    return sentence


def test_a_few_massive_tokens_are_at_most_one_in_a_hundred() -> None:
    assert massive_sentence((4, 858), (4, 858)) == (
        "In 2 of 3 layers a few massive tokens dominate the variance: in block 2 the top "
        "component holds 0.920 of it with 4 such tokens of 858 (0.47 %) and 0.100 without."
    )
    assert massive_sentence((1, 100), (1, 100)).startswith("In 2 of 3 layers a few massive")


@pytest.mark.parametrize("counts", [((63, 522), (63, 522)), ((2, 522), (63, 522))])
def test_many_massive_tokens_are_not_called_a_few(counts: tuple[tuple[int, int], ...]) -> None:
    assert massive_sentence(*counts) == (
        "In 2 of 3 layers massive tokens dominate the variance: in block 2 the top component "
        "holds 0.920 of it with 63 such tokens of 522 (12 %, more than a few) and 0.100 without."
    )


def outliers(**changed: Any) -> Result:
    row = {
        "dimension": 507, "layers": 25, "of_layers": 31, "which": ["block 1"],
        "share_minimum": 0.01, "share_maximum": 0.75, "largest_share": 0.9,
        "largest_deviations": 9.0,
    }  # fmt: skip
    return Result([], [Table("m", "", "none", "persistence", [{**row, **changed}])])


def test_a_dimension_that_is_seldom_an_extreme_is_described_by_its_mean() -> None:
    (said,) = outlier_sentences(outliers())
    assert said.text == (
        "Outlier dimensions: 507 in 25 of 31 layers (the maximum in 75 % of all vectors)."
    )
    assert said.short == "Dimension 507 in 25 of 31 layers (the maximum in 75 % of all vectors)."
    (said,) = outlier_sentences(outliers(share_maximum=0.04, largest_deviations=-12.34))
    assert said.text == (
        "Outlier dimensions: 507 in 25 of 31 layers (its mean is up to 12.3 deviations from the "
        "others)."
    )


def test_other_dimensions_of_the_last_layer_are_explained() -> None:
    verdict = {"part": "block 2", "sentence": "Strong outlier dimensions: …", "dimensions": [17]}
    assert other_outliers("block 2", verdict, outliers()) == [
        "Dimension 507, which stands out in 25 of 31 layers, does not stand out there."
    ]
    (there,) = other_outliers("block 2", verdict, outliers(which=["block 1", "block 2"]))
    assert "stands out there as well, but carries less" in there
    assert other_outliers("block 2", {**verdict, "dimensions": [17, 507]}, outliers()) == []
    assert other_outliers("block 2", {"sentence": "A mild common offset"}, outliers()) == []
    found = outliers()
    found.verdicts.append(verdict)
    sentence = profile_verdict("m", LAYERS, found)["sentence"]
    assert sentence.endswith("25 of 31 layers, does not stand out there.")

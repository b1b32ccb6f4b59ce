"""Corrections of documents, and what queries go through beside them."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.corrections.query_centre import sampled_rows, two_sided_spaces
from isoscope.data.open import open_cloud
from isoscope.errors import DataError, UsageError

RNG = np.random.default_rng(8)
DOCUMENTS = RNG.normal(size=(120, 4)) + 3
QUERIES = RNG.normal(size=(50, 4)) - 1


def names(corrections, centres) -> list[str]:
    found = two_sided_spaces(
        corrections, open_cloud(DOCUMENTS), open_cloud(QUERIES), centres=centres
    )
    return [one.name for one in found]


def test_one_centre_or_two() -> None:
    both = two_sided_spaces(["none", "center"], open_cloud(DOCUMENTS), open_cloud(QUERIES))
    plain, shared, own = both
    assert plain.of_queries(QUERIES) is QUERIES
    mean = DOCUMENTS.mean(axis=0)
    np.testing.assert_allclose(shared.of_documents(DOCUMENTS), DOCUMENTS - mean, atol=1e-12)
    np.testing.assert_allclose(shared.of_queries(QUERIES), QUERIES - mean, atol=1e-12)
    np.testing.assert_allclose(own.of_documents(DOCUMENTS), DOCUMENTS - mean, atol=1e-12)
    np.testing.assert_allclose(own.of_queries(QUERIES), QUERIES - QUERIES.mean(axis=0), atol=1e-12)


def test_which_spaces_there_are() -> None:
    asked = ["none", "center", "clip"]
    assert names(asked, "shared") == asked
    assert names(asked, "both") == [*asked, "center (own centres)"]
    assert names(asked, "own") == ["none", "clip", "center (own centres)"]
    assert names(["none", "clip"], "own") == ["none", "clip"]
    assert [one.name for one in two_sided_spaces(asked, open_cloud(DOCUMENTS))] == asked


def test_widths_must_agree() -> None:
    with pytest.raises(UsageError, match="documents have 4 dimensions and queries 3"):
        two_sided_spaces(["none"], open_cloud(DOCUMENTS), open_cloud(QUERIES[:, :3]))


def test_samples_may_leave_out_rows_that_are_not_finite() -> None:
    broken = DOCUMENTS.copy()
    broken[7] = np.nan
    assert len(sampled_rows(open_cloud(broken), 200, 0, drop_invalid=True)) == 119
    with pytest.raises(DataError, match="row 7"):
        sampled_rows(open_cloud(broken), 200, 0, drop_invalid=False)
    assert len(sampled_rows(open_cloud(DOCUMENTS), 30, 0, drop_invalid=False)) == 30

"""Corrections for two clouds with a centre each."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.corrections import load_correction, make_correction
from isoscope.corrections.affine import Centring, centred_on
from isoscope.corrections.closed_form import refreshed
from isoscope.errors import DataError, UsageError

RNG = np.random.default_rng(3)
DOCUMENTS = RNG.normal(size=(200, 6)) @ RNG.normal(size=(6, 6)) + 3
QUERIES = RNG.normal(size=(50, 6)) - 2


@pytest.mark.parametrize(
    "name", ["center", "standardize", "whiten", "all-but-the-top:n_components=2"]
)
def test_the_other_cloud_is_moved_before_the_same_map(name: str, tmp_path) -> None:
    correction = make_correction(name).fit(DOCUMENTS)
    mean = QUERIES.mean(axis=0)
    own = centred_on(correction, mean)
    moved = QUERIES - mean + DOCUMENTS.mean(axis=0)
    # Both sides are one product of float64 numbers of size 10, in another order.
    np.testing.assert_allclose(own.transform(QUERIES), correction.transform(moved), atol=1e-10)
    np.testing.assert_allclose(own.transform(QUERIES).mean(axis=0), 0, atol=1e-10)
    own.save(tmp_path / "own.safetensors")
    loaded = load_correction(tmp_path / "own.safetensors")
    np.testing.assert_array_equal(loaded.transform(QUERIES), own.transform(QUERIES))


def test_the_original_stays_as_it_is() -> None:
    correction = make_correction("center").fit(DOCUMENTS)
    centred_on(correction, np.zeros(6))
    np.testing.assert_allclose(correction.mean_, DOCUMENTS.mean(axis=0))


def test_a_borrowed_centre_cannot_be_refreshed() -> None:
    own = centred_on(make_correction("center").fit(DOCUMENTS), QUERIES.mean(axis=0))
    with pytest.raises(UsageError, match="make that of the queries again"):
        refreshed(own, QUERIES)


def test_corrections_without_a_mean_are_refused() -> None:
    clip = make_correction("clip").fit(DOCUMENTS)
    assert not isinstance(clip, Centring)
    with pytest.raises(UsageError, match="clip does not subtract a mean"):
        centred_on(clip, np.zeros(6))
    with pytest.raises(DataError, match="5 dimensions does not fit a correction of 6"):
        centred_on(make_correction("center").fit(DOCUMENTS), np.zeros(5))

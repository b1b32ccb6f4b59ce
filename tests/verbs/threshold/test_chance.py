"""One threshold in the forms of stores."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.verbs.threshold.chance import FORMS, forms_of


def test_forms_are_those_of_unit_vectors() -> None:
    rng = np.random.default_rng(0)
    u, v = (row / np.linalg.norm(row) for row in rng.normal(size=(2, 7)))
    found = forms_of(float(u @ v))
    assert found["cosine_distance"] == pytest.approx(1 - u @ v)
    assert found["euclidean_of_unit"] == pytest.approx(np.linalg.norm(u - v))
    assert found["halved_score"] == pytest.approx((1 + u @ v) / 2)


def test_the_same_vector_has_distance_zero_and_nothing_has_no_form() -> None:
    assert forms_of(1.0 + 1e-16)["euclidean_of_unit"] == 0
    assert forms_of(None) == dict.fromkeys(FORMS)

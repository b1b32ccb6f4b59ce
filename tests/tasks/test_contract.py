"""Which rows settings are chosen on."""

from __future__ import annotations

import numpy as np

from isoscope.tasks.probes import Lesson

CODES = np.repeat([0, 1, 2], [20, 10, 2])
FEATURES = np.zeros((32, 3))


def test_given_rows_are_taken() -> None:
    given = np.arange(32) % 2 == 0
    assert Lesson(FEATURES, CODES, FEATURES, given).held_back(0) is given


def test_every_fifth_row_of_a_class_otherwise() -> None:
    for given in (None, np.zeros(32, bool), np.ones(32, bool), CODES == 1):
        back = Lesson(FEATURES, CODES, FEATURES, given).held_back(0)
        np.testing.assert_array_equal(np.bincount(CODES[back], minlength=3), [4, 2, 0])

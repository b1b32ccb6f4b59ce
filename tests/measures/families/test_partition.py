from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.families.partition import narrowest, oriented, sign_range, widest
from isoscope.measures.space import Partition

NUMBERS = st.floats(-50, 50)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7)


@given(pairs=PAIRS)
def test_the_range_over_signs_by_trying_all(pairs: list[tuple[float, float]]) -> None:
    ranges = [max(choice) - min(choice) for choice in itertools.product(*pairs)]
    table = np.array(pairs)
    assert widest(table) == pytest.approx(max(ranges))
    assert narrowest(table) == pytest.approx(min(ranges))


@given(pairs=PAIRS)
def test_the_value_lies_in_the_range_over_signs(pairs: list[tuple[float, float]]) -> None:
    found = Partition(*np.array(pairs).T, axes="")
    logs = oriented(found)
    low, high = sign_range(found)
    assert low - 1e-12 <= logs.min() - logs.max() <= high + 1e-12

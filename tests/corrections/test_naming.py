from __future__ import annotations

import numpy as np
import pytest

from isoscope.corrections import Clip, Whiten, make_correction
from isoscope.corrections.naming import all_corrections, text_of

TEXTS = [
    *all_corrections(),
    "whiten:kind=zca:n_components=3",
    "clip:dimensions=1+4:threshold=0.2",
    "all-but-the-top:project=original:renormalize=true",
    "cluster-pc-removal:n_clusters=3:random_state=none",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_correction_are_one(text: str) -> None:
    assert text_of(make_correction(text)) == text


def test_lists_of_any_kind() -> None:
    for dimensions in ([1, 4], (1, 4), np.array([1, 4])):
        assert text_of(Clip(dimensions=dimensions)) == "clip:dimensions=1+4"
    assert text_of(Whiten(n_components=None)) == "whiten"

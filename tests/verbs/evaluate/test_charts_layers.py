from __future__ import annotations

import pytest

from isoscope.results.charts.layer_axis import numbered


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        (["embedding", "block 1", "block 2"], [0, 1, 2]),
        (["embedding", "block 4", "block 8"], [0, 4, 8]),
        (["layer 4", "layer 8", "layer 12"], [4, 8, 12]),
        (["block 2", "block 6"], [2, 6]),
        (["encoder block 1", "decoder block 1"], [0, 1]),
        (["block 1", "final norm"], [0, 1]),
        (["embedding", "norm", "block 1"], [0, 1, 2]),
    ],
)
def test_layers_have_their_own_number_or_their_place(parts: list[str], places: list[int]) -> None:
    assert list(numbered(parts).values()) == places

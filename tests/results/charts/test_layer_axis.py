from __future__ import annotations

import pytest

from isoscope.models.layer_names import in_order
from isoscope.models.layer_names import side_of_layer as side_of
from isoscope.results.charts.layer_axis import depth_axis, layer_axis


def test_layers_come_from_the_input_on() -> None:
    given = ["final norm", "block 10", "block 2", "embedding", "block 2"]
    assert in_order(given) == ["embedding", "block 2", "block 10", "final norm"]


def test_the_last_block_comes_before_the_layer_behind_the_final_norm() -> None:
    given = ["layer 12", "layer 0", "block 12", "layer 11", "last layer"]
    assert in_order(given) == ["layer 0", "layer 11", "block 12", "layer 12", "last layer"]


def test_an_encoder_comes_before_its_decoder() -> None:
    given = ["decoder embedding", "encoder final norm", "encoder block 1", "decoder block 1"]
    assert in_order(given) == [
        "encoder block 1", "encoder final norm", "decoder embedding", "decoder block 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "side"),
    [
        ("embedding", ""), ("block 12", ""), ("layer 0", ""), ("last layer", ""),
        ("encoder block 3", "encoder"), ("decoder final norm", "decoder"),
        ("embedding matrix", None), ("block 1, ordinary tokens", None), ("block", None),
        ("block 6, ranks 1 to 100", None), ("non-input layers", None), ("", None),
        ("block " + "9" * 5_000, None), ("block 1\n", None),
    ],
)  # fmt: skip
def test_what_is_a_layer(part: str, side: str | None) -> None:
    assert side_of(part) == side


def test_names_of_an_axis_stand_up_before_some_are_left_out() -> None:
    few, some, many = (layer_axis(count)["axis"] for count in (7, 20, 60))
    assert few["labelAngle"] > some["labelAngle"] == -90
    assert not few["labelOverlap"]
    assert not some["labelOverlap"]
    assert many["labelOverlap"] == "parity"
    assert depth_axis("label", "norm", 3)["sort"] == {"field": "depth", "op": "min"}

"""Models of other depths, side by side."""

from __future__ import annotations

from isoscope.results.fields import KIND, PROFILE
from isoscope.results.result import Result, Row
from isoscope.verbs.profile.text import depth_grids


def layers(model: str, blocks: int, *, norm: bool = False, side: str = "") -> list[Row]:
    names = ["embedding", *(f"block {k}" for k in range(1, blocks + 1))]
    names += ["final norm"] if norm else []
    return [
        Row(model, f"{side} {name}".strip(), "none", "mean_cosine", number / 100)
        for number, name in enumerate(names)
    ]


def test_layers_at_the_same_depth_are_in_one_line() -> None:
    rows = [*layers("small", 4), *layers("large", 24, norm=True)]
    (grid,) = depth_grids(Result(rows, extra={KIND: PROFILE}))
    assert grid.header == ["depth", "mean_cosine: small", "mean_cosine: large"]
    assert grid.rows == [
        ["0%", "0", "0"],
        ["25%", "0.010", "0.060"],
        ["50%", "0.020", "0.120"],
        ["75%", "0.030", "0.180"],
        ["100%", "0.040", "0.240"],
        ["final norm", "", "0.250"],
    ]


def test_encoder_and_decoder_are_two_columns_and_other_tokens_none() -> None:
    rows = [*layers("one", 2), *layers("two", 2, side="encoder"), *layers("two", 3, side="decoder")]
    rows.append(Row("one", "block 1, ordinary tokens", "none", "mean_cosine", 0.9))
    (grid,) = depth_grids(Result(rows))
    assert grid.header[1:] == [
        "mean_cosine: one", "mean_cosine: two, encoder", "mean_cosine: two, decoder",
    ]  # fmt: skip
    assert grid.rows[2] == ["50%", "0.010", "0.010", "0.020"]


def test_one_model_needs_no_comparison() -> None:
    assert depth_grids(Result(layers("one", 3))) == []
    assert depth_grids(Result(layers("two", 3, side="encoder"))) == []

from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.measures.context.definitions import persistence
from isoscope.measures.context.outlier_rule import often
from isoscope.measures.space import Dimensions


def dimensions(vectors: np.ndarray, kind: str = "dimension") -> Dimensions:
    width = vectors.shape[1]
    zeros = np.zeros(width)
    return Dimensions(
        kind=kind,
        mean=vectors.mean(axis=0),
        variance=vectors.var(axis=0),
        unit_sum=zeros,
        unit_square_sum=zeros,
        minimum_counts=np.bincount(vectors.argmin(axis=1), minlength=width),
        maximum_counts=np.bincount(vectors.argmax(axis=1), minlength=width),
    )


def layers() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    made = {f"block {k}": draw.standard_normal((200 + k, 40)) for k in range(3)}
    made["block 0"][:, 7] = 50
    made["block 1"][:, 7] = 50
    made["block 1"][:150, 9] = -50
    return made


def test_dimensions_with_the_layers_in_which_they_stand_out() -> None:
    clouds = layers()
    table = persistence({name: dimensions(x) for name, x in clouds.items()})
    assert [row["dimension"] for row in table.rows] == [7, 9]
    first, second = table.rows
    assert (first["layers"], first["of_layers"]) == (2, 3)
    assert first["which"] == ["block 0", "block 1"]
    assert second["which"] == ["block 1"]
    pooled = np.concatenate(list(clouds.values()))
    assert first["share_maximum"] == np.mean(pooled.argmax(axis=1) == 7)
    assert second["share_minimum"] == np.mean(pooled.argmin(axis=1) == 9)
    assert second["largest_share"] == np.mean(clouds["block 1"].argmin(axis=1) == 9)
    assert "20 %" in table.note


def test_a_mean_far_from_the_others_makes_an_outlier() -> None:
    random = np.random.default_rng(1)
    cloud = random.standard_normal((400, 200))
    cloud[:, 4] += 1.2
    shares = np.bincount(cloud.argmax(axis=1), minlength=200) / 400
    assert shares[4] < 0.1
    (row,) = persistence({"block 1": dimensions(cloud)}).rows
    assert row["dimension"] == 4
    assert row["largest_deviations"] > 6
    assert row["largest_share"] == shares[4]


def test_few_dimensions_are_extremes_more_often() -> None:
    assert often(384) == 0.1
    assert often(40) == 0.2
    assert often(4) == 0.9
    assert persistence({"a": dimensions(np.random.default_rng(0).random((300, 4)))}).rows == []


def test_layers_of_several_widths_and_none_at_all() -> None:
    narrow = np.zeros((5, 3))
    narrow[:, 2] = 4
    wide = np.zeros((20, 6))
    wide[:, 5] = -1
    table = persistence({"narrow": dimensions(narrow), "wide": dimensions(wide)})
    assert {row["dimension"]: row["of_layers"] for row in table.rows} == {0: 2, 2: 2, 5: 1}
    by_dimension = {row["dimension"]: row for row in table.rows}
    assert by_dimension[2]["share_maximum"] == 5 / 25
    assert by_dimension[5]["share_minimum"] == 1
    assert persistence({}).rows == []


def test_components_of_layers_are_not_the_same_ones() -> None:
    with pytest.raises(UsageError, match="'a' has components"):
        persistence({"a": dimensions(np.eye(3), "component")})

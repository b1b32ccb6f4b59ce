from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.measures.context.definitions import persistence
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
    assert "10%" in table.note


def test_the_share_that_makes_an_outlier() -> None:
    found = {name: dimensions(x) for name, x in layers().items()}
    assert [row["dimension"] for row in persistence(found, share=0.9).rows] == [7]
    assert len(persistence(found, share=0.0).rows) == 40


def test_layers_of_several_widths_and_none_at_all() -> None:
    narrow = np.zeros((5, 3))
    narrow[:, 2] = 4
    wide = np.zeros((20, 6))
    wide[:, 5] = -1
    table = persistence({"narrow": dimensions(narrow), "wide": dimensions(wide)}, share=0.9)
    assert {row["dimension"]: row["of_layers"] for row in table.rows} == {0: 2, 2: 2, 5: 1}
    by_dimension = {row["dimension"]: row for row in table.rows}
    assert by_dimension[2]["share_maximum"] == 5 / 25
    assert by_dimension[5]["share_minimum"] == 1
    assert persistence({}).rows == []


def test_components_of_layers_are_not_the_same_ones() -> None:
    with pytest.raises(UsageError, match="'a' has components"):
        persistence({"a": dimensions(np.eye(3), "component")})

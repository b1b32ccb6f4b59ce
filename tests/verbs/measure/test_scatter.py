"""Points of a picture: drawn evenly from the whole cloud, on the components of what is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.verbs.measure.scatter import POINTS, scatter_tables

RNG = np.random.default_rng(0)
X = RNG.normal(0.5, 1, (300, 5)) * np.array([4.0, 2.0, 1.0, 0.5, 0.1])


def test_all_of_a_small_cloud_on_its_components() -> None:
    result = isoscope.measure(X, "mean_cosine", "none,center,whiten")
    found = scatter_tables(X, ["none", "center", "whiten"], result)
    assert [table.correction for table in found] == ["none", "center", "whiten"]
    for table, vectors in zip(found, (X, X - X.mean(axis=0)), strict=False):
        _, axes = np.linalg.eigh(vectors.T @ vectors)
        for column, axis in (("first", -1), ("second", -2)):
            points = np.array([row[column] for row in table.rows])
            wanted = vectors @ axes[:, axis]
            assert np.abs(points) == pytest.approx(np.abs(wanted), abs=1e-9)
    assert [row["token"] for row in found[0].rows[:3]] == ["0", "1", "2"]
    whitened = np.array([[row["first"], row["second"]] for row in found[2].rows])
    assert whitened.var(axis=0) == pytest.approx([1, 1], rel=1e-6)
    assert (found[0].subject, found[0].part) == (result.rows[0].subject, "")


def test_a_large_cloud_is_drawn_from_everywhere(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.tile(np.arange(20_000.0)[:, None], (1, 3)))
    path = str(tmp_path / "x.npy")
    result = isoscope.measure(path, "mean_norm", "none")
    tables = [scatter_tables(path, ["none"], result, seed=seed)[0] for seed in (0, 0, 1)]
    rows = [[int(row["token"]) for row in table.rows] for table in tables]
    assert rows[0] == rows[1] != rows[2]
    assert len(rows[0]) == POINTS
    assert rows[0] == sorted(set(rows[0]))
    # The mean of 500 draws from 0 to 19,999 has a deviation of 258: within four of them.
    assert np.mean(rows[0]) == pytest.approx(10_000, abs=1_040)


def test_several_clouds_and_bad_rows(tmp_path: Path) -> None:
    broken = X.copy()
    broken[7, 2] = np.nan
    np.save(tmp_path / "part_a.npy", X)
    np.save(tmp_path / "part_b.npy", X[:, :1])
    path = f"{tmp_path}/part_{{name}}.npy"
    result = isoscope.measure(path, "mean_norm", "none", drop_invalid=True)
    found = scatter_tables(path, ["none"], result, drop_invalid=True)
    clouds = dict.fromkeys((row.subject, row.part) for row in result.rows)
    assert [(table.subject, table.part) for table in found] == list(clouds)
    assert {row["second"] for row in found[1].rows} == {0.0}
    np.savez(tmp_path / "one.npz", a=broken)
    dropped = isoscope.measure(str(tmp_path / "one.npz"), "mean_norm", "none", drop_invalid=True)
    table = scatter_tables(str(tmp_path / "one.npz"), ["none"], dropped, drop_invalid=True)[0]
    assert len(table.rows) == len(X) - 1

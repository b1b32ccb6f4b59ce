"""Single-precision clouds against the definitions in double precision.

Four kinds of cloud are hard in different ways: a random one, one whose offset is a thousand times
its spread, one whose smallest variance is 1e-8 of the largest, and one without full rank. The
tolerances stand a little above the largest error that was seen before any sum was made faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import isoscope

ROWS, WIDTH = 3_000, 48

random = np.random.default_rng(7)
turn = np.linalg.qr(random.standard_normal((WIDTH, WIDTH)))[0]
plain = random.standard_normal((ROWS, WIDTH)) * np.arange(1, WIDTH + 1) ** -0.5
clouds = {
    "random": 0.3 * plain + 0.05,
    "shifted": 0.003 * plain + 3.0,
    "ill-conditioned": 0.5 * plain * np.logspace(0, -3, WIDTH) @ turn + 0.05,
    "rank-deficient": 0.5 * plain * (np.arange(WIDTH) < 30) @ turn,
}
CLOUDS = {name: np.asarray(cloud, np.float32) for name, cloud in clouds.items()}


@dataclass(frozen=True)
class Defined:
    """A cloud, centred, whitened or not, with its eigenvectors, all in double precision."""

    rows: np.ndarray
    axes: np.ndarray

    def log10_i1(self, *, scaled: bool = False) -> float:
        """min Z / max Z over the axes, each turned so that Z(c) ≥ Z(−c)."""
        t = self.rows @ self.axes
        if scaled:
            t = t / math.sqrt(float((t * t).sum()) / len(t))
        both = np.stack((np.logaddexp.reduce(t, axis=0), np.logaddexp.reduce(-t, axis=0)))
        logs = both.max(axis=0)
        return float(logs.min() - logs.max()) / math.log(10)

    def mean_cosine(self) -> float:
        """Over all pairs of different rows."""
        units = self.rows / np.linalg.norm(self.rows, axis=1, keepdims=True)
        n = len(units)
        return float((np.square(units.sum(axis=0)).sum() - n) / (n * n - n))


def defined(x: np.ndarray, correction: str) -> Defined:
    """Apply a correction by its definition."""
    rows = x.astype(np.float64)
    if correction == "none":
        return Defined(rows, np.linalg.eigh(rows.T @ rows)[1])
    centred = rows - rows.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(x))
    values, axes = values[::-1], axes[:, ::-1]
    if correction == "center":
        return Defined(centred, axes)
    if correction == "all-but-the-top":
        count = math.ceil(WIDTH / 100)
        kept = np.arange(WIDTH) >= count
        return Defined(centred @ axes * kept @ axes.T, axes)
    present = values > 1e-10 * values[0]
    whitened = centred @ axes[:, present] / np.sqrt(values[present])
    padded = np.pad(whitened, ((0, 0), (0, WIDTH - whitened.shape[1])))
    return Defined(padded, np.eye(WIDTH))


@pytest.fixture(scope="module", params=CLOUDS)
def measured(request: pytest.FixtureRequest) -> tuple[str, np.ndarray, isoscope.Result]:
    x = CLOUDS[request.param]
    return request.param, x, isoscope.measure(x)


@pytest.mark.parametrize("correction", ["none", "center", "all-but-the-top", "whiten"])
def test_partition_sums(measured: tuple[str, np.ndarray, isoscope.Result], correction: str) -> None:
    _, x, result = measured
    exact = defined(x, correction)
    for measure, scaled in (("i1", False), ("i1_scaled", True)):
        row = result.row(measure, correction)
        assert row.log10 == pytest.approx(exact.log10_i1(scaled=scaled), abs=2e-7)


@pytest.mark.parametrize("correction", ["none", "center", "all-but-the-top", "whiten"])
def test_mean_cosine(measured: tuple[str, np.ndarray, isoscope.Result], correction: str) -> None:
    _, x, result = measured
    exact = defined(x, correction).mean_cosine()
    assert result.value("mean_cosine", correction) == pytest.approx(exact, abs=2e-7)


def test_spectrum(measured: tuple[str, np.ndarray, isoscope.Result]) -> None:
    _, x, result = measured
    values = np.linalg.eigvalsh(np.cov(x.astype(np.float64).T, bias=True))[::-1]
    p = np.maximum(values, 0) / values.sum()
    positive = p[p > 1e-300]
    expected = {
        "top_variance_share": p[0],
        "effective_rank": math.exp(-float(positive @ np.log(positive))),
        "participation_ratio": 1 / float(p @ p),
        "iso_score": (1 / float(p @ p) - 1) / (WIDTH - 1),
    }
    for name, value in expected.items():
        assert result.value(name) == pytest.approx(value, rel=1e-8)
    table = next(t for t in result.tables if t.measure == "spectrum" and t.correction == "none")
    found = np.array([row["variance"] for row in table.rows])
    assert np.abs(found - values).max() <= 1e-9 * values[0]


def test_extreme_and_outlying_dimensions(
    measured: tuple[str, np.ndarray, isoscope.Result],
) -> None:
    _, x, result = measured
    for correction in ("none", "center", "whiten"):
        rows = defined(x, correction).rows
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        sums, squares = units.sum(axis=0), np.square(units).sum(axis=0)
        parts = (sums**2 - squares) / (ROWS * (ROWS - 1))
        table = next(
            t
            for t in result.tables
            if t.measure == "outlier_dimensions" and t.correction == correction
        )
        for row in table.rows:
            k = row.get("dimension", row.get("component"))
            if correction == "whiten":  # the sign of a component is open, and so are its extremes
                assert abs(row["mean_cosine_part"] - parts[k]) < 1e-7
                continue
            assert abs(row["mean_cosine_part"] - parts[k]) < 1e-7
            share = np.count_nonzero(rows.argmin(axis=1) == k) / ROWS
            assert abs(row["share_minimum"] - share) <= 3 / ROWS

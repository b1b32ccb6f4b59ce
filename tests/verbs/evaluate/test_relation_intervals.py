"""Mean rank correlations against scipy and brute force, intervals by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from isoscope.errors import UsageError
from isoscope.verbs.evaluate.relation import RUNS, mean_rank_correlation, runs_of_layers

RNG = np.random.default_rng(0)


def rho(x: np.ndarray, y: np.ndarray) -> float:
    return float(stats.spearmanr(x, y).statistic)


def clustered(rng: np.random.Generator, clusters: int, between: float, within: float) -> np.ndarray:
    """Two numbers of four spaces a cluster, with the same four shifts in every cluster."""
    shared, own = rng.standard_normal((2, clusters, 1)), rng.standard_normal((2, clusters, 4))
    for one, r in ((shared, between), (own, within)):
        one[1] = r * one[0] + math.sqrt(1 - r * r) * one[1]
    both = shared + own
    both[0] += np.linspace(0, 1, 4)
    both[1] -= np.linspace(0, 0.5, 4)
    return both


def names(clusters: int) -> list[int]:
    return [k for k in range(clusters) for _ in range(4)]


def test_one_group_is_scipys_rho_with_an_interval_from_leaving_clusters_out() -> None:
    x, y = clustered(RNG, 8, 0.8, 0.2)
    found, groups = mean_rank_correlation(x.ravel(), y.ravel(), [0] * 32, names(8))
    expected = rho(x.ravel(), y.ravel())
    assert groups == 1
    assert found.n == 32
    assert found.value == pytest.approx(expected, abs=1e-12)
    left = [rho(np.delete(x, k, 0).ravel(), np.delete(y, k, 0).ravel()) for k in range(8)]
    error = math.sqrt(7 * np.var(left)) / (1 - expected**2)
    half = stats.t.ppf(0.975, 6) * error
    assert found.low == pytest.approx(math.tanh(math.atanh(expected) - half), abs=1e-9)
    assert found.high == pytest.approx(math.tanh(math.atanh(expected) + half), abs=1e-9)


def test_groups_within_clusters_have_the_error_of_a_mean() -> None:
    x, y = clustered(RNG, 9, 0.0, 0.5)
    found, groups = mean_rank_correlation(x.ravel(), y.ravel(), names(9), names(9))
    each = [rho(*pair) for pair in zip(x, y, strict=True)]
    value = float(np.mean(each))
    assert groups == 9
    assert found.value == pytest.approx(value, abs=1e-12)
    half = stats.t.ppf(0.975, 7) * stats.sem(each) / (1 - value**2)
    assert found.low == pytest.approx(math.tanh(math.atanh(value) - half), abs=1e-9)
    joint, _ = mean_rank_correlation(x.ravel(), y.ravel(), names(9), [k // 8 for k in range(36)])
    assert joint.value == found.value
    assert joint.low != found.low


def test_clusters_within_groups_are_strata() -> None:
    groups, clusters = [0] * 9 + [1] * 14, list(range(23))
    x, y = RNG.standard_normal((2, 23))
    y += x
    found, used = mean_rank_correlation(x, y, groups, clusters)
    parts = [(x[:9], y[:9]), (x[9:], y[9:])]
    value = float(np.mean([rho(*part) for part in parts]))
    assert used == 2
    assert found.value == pytest.approx(value, abs=1e-12)
    variance = 0.0
    for a, b in parts:
        left = [rho(np.delete(a, k), np.delete(b, k)) / 2 for k in range(len(a))]
        variance += (len(a) - 1) * np.var(left)
    half = stats.t.ppf(0.975, 20) * math.sqrt(variance) / (1 - value**2)
    assert found.high == pytest.approx(math.tanh(math.atanh(value) + half), abs=1e-9)


@pytest.mark.parametrize(("clusters", "between", "within"), [(6, 0.8, -0.5), (12, 0.6, 0.6)])
def test_intervals_hold_the_truth(clusters: int, between: float, within: float) -> None:
    rng = np.random.default_rng(1)
    x, y = clustered(rng, 20_000, between, within)
    truth, held, runs = rho(x.ravel(), y.ravel()), 0, 200
    for _ in range(runs):
        x, y = clustered(rng, clusters, between, within)
        found, _ = mean_rank_correlation(
            x.ravel(), y.ravel(), [0] * (4 * clusters), names(clusters)
        )
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert 0.91 <= held / runs <= 0.99


def test_single_spaces_would_promise_too_much() -> None:
    rng = np.random.default_rng(2)
    lengths: dict[str, list[float]] = {"clusters": [], "spaces": []}
    for _ in range(20):
        x, y = (part.ravel() for part in clustered(rng, 12, 0.9, 0.0))
        for name, clusters in (("clusters", names(12)), ("spaces", list(range(48)))):
            found, _ = mean_rank_correlation(x, y, [0] * 48, clusters)
            assert found.low is not None
            assert found.high is not None
            lengths[name].append(found.high - found.low)
    assert np.mean(lengths["clusters"]) > 1.2 * np.mean(lengths["spaces"])


def test_runs_of_layers_are_neighbours_of_one_model() -> None:
    layers = [("a", str(k)) for k in range(13)] + [("b", "0"), ("b", "1")]
    runs = runs_of_layers([*layers, ("a", "0")])
    assert [run for model, run in runs[:13]] == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len(set(runs[:13])) == RUNS
    assert runs[13:] == [("b", 0), ("b", 1), ("a", 0)]


def test_drifting_numbers_are_seldom_called_related_with_runs() -> None:
    rng = np.random.default_rng(3)
    called = {"runs": 0, "layers": 0}
    layers = [("a", str(k)) for k in range(31)]
    for _ in range(60):
        x, y = rng.standard_normal((2, 31)).cumsum(axis=1)
        for name, clusters in (("runs", runs_of_layers(layers)), ("layers", layers)):
            found, _ = mean_rank_correlation(x, y, [0] * 31, clusters)
            called[name] += found.low is not None and found.low * (found.high or 0) > 0
    assert called["runs"] <= 12 < 20 <= called["layers"]


def test_what_has_no_number_or_no_interval_says_why() -> None:
    ramp = np.arange(8.0)
    noise = np.array([3.0, 1, 4, 1.5, 9, 2, 6, 5])
    one, own = [0] * 8, list(range(8))

    def note(x: np.ndarray, y: np.ndarray, groups: list[int], clusters: list[int]) -> str:
        found, _ = mean_rank_correlation(x, y, groups, clusters)
        assert found.low is None
        assert (found.value is None) == found.note.startswith("undefined")
        return found.note

    assert "the same everywhere" in note(ramp, np.ones(8), one, own)
    assert "fewer than 4 spaces" in note(ramp[:3], noise[:3], one[:3], own[:3])
    assert "no two spaces" in note(ramp, noise, own, own)
    assert "fewer than 5 layers" in note(ramp, noise, one, [0, 0, 1, 1, 2, 2, 3, 3])
    assert "perfect" in note(ramp, ramp**3, one, own)
    assert "undefined without some layers" in note(ramp, noise, [0, 0, *[1] * 6], own)
    missing = noise.copy()
    missing[2] = math.nan
    found, _ = mean_rank_correlation(ramp, missing, one, own)
    assert found.n == 7
    assert found.note == "1 space without score or isotropy left out"
    assert found.value == pytest.approx(rho(np.delete(ramp, 2), np.delete(noise, 2)))
    with pytest.raises(UsageError, match="level must be between 0 and 1"):
        mean_rank_correlation(ramp, noise, one, own, level=95)


def test_groups_without_a_correlation_do_not_count() -> None:
    x = RNG.standard_normal(24)
    y = RNG.standard_normal(24)
    y[4:8] = 0.5
    found, groups = mean_rank_correlation(x, y, names(6), names(6))
    each = [rho(x[k : k + 4], y[k : k + 4]) for k in (0, 8, 12, 16, 20)]
    assert groups == 5
    assert found.n == 20
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)

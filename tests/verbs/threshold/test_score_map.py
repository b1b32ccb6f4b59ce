"""Maps from scores to what they mean."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.errors import DataError, UsageError
from isoscope.verbs.threshold.score_map import (
    ScoreMap,
    load_maps,
    percentile_map,
    probability_map,
    save_maps,
)

RNG = np.random.default_rng(4)
PAIRS = RandomPairs.of(RNG.normal(size=(200, 6)) + 0.4)


def test_percentiles_are_shares_of_random_pairs_below() -> None:
    found = percentile_map(PAIRS, "none")
    for score in (-0.5, 0.0, 0.5, 0.9):
        below = 100 * np.mean(PAIRS.ordered < score)
        assert found(score) == pytest.approx(below, abs=0.5)  # between knots a percent apart
    for score in PAIRS.ordered[[3, 30, -30, -4]]:
        # A dozen pairs from either end, where a straight line over a percent would be far off.
        assert found(score) == pytest.approx(100 * np.mean(PAIRS.ordered < score), abs=0.02)
    assert found(1.0) == 100
    assert found(-1.0) == 0
    assert (np.diff(found.scores) > 0).all()
    assert (np.diff(found.values) > 0).all()


def test_equal_scores_get_the_highest_percentile() -> None:
    found = percentile_map(RandomPairs.of(np.ones((40, 3))), "none")
    assert found.values == (100.0,)


def test_probabilities_are_those_of_isotonic_regression_away_from_the_ends() -> None:
    cosines = RNG.uniform(-1, 1, 300)
    labels = RNG.random(300) < (cosines + 1) / 2
    found = probability_map(cosines, labels, "center")
    other = IsotonicRegression(out_of_bounds="clip").fit(cosines, labels)
    grid = np.linspace(-0.8, 0.8, 50)
    np.testing.assert_allclose(found(grid), other.predict(grid), atol=1e-12)


def test_no_probability_is_exactly_0_or_1() -> None:
    """Where the k highest pairs are all a yes, Laplace's rule of succession."""
    cosines = np.linspace(0, 1, 20)
    found = probability_map(cosines, cosines > 0.6, "none")
    assert found(0.9) == pytest.approx(9 / 10)  # eight yeses
    assert found(0.1) == pytest.approx(1 / 14)  # twelve noes
    lone = probability_map(cosines, cosines == 1, "none")
    assert lone(1.0) == pytest.approx(2 / 3)


def test_probabilities_rise() -> None:
    cosines = RNG.uniform(-1, 1, 200)
    found = probability_map(cosines, RNG.random(200) < 0.5, "none")
    assert (np.diff(found.values) >= 0).all()
    assert 0 < found.values[0] <= found.values[-1] < 1


def test_scores_outside_of_the_labelled_pairs_are_marked() -> None:
    found = ScoreMap("probability", "none", (0.2, 0.6), (0.1, 0.9))
    assert found.range == (0.2, 0.6)
    assert found.inside([0.1, 0.2, 0.6, 0.7]).tolist() == [False, True, True, False]
    told = r"1 of 2 scores lie outside the range of the labelled pairs \(0.2000 to 0.6000\)"
    with pytest.warns(UserWarning, match=told):
        assert found([0.4, 0.8]) == pytest.approx([0.5, 0.9])
    with pytest.raises(DataError, match=told):
        found([0.4, 0.8], outside="raise")
    assert np.isnan(found([0.4, 0.8], outside="nan")).tolist() == [False, True]
    assert found(0.8, outside="clip") == 0.9
    with pytest.raises(UsageError, match="outside must be warn, clip, nan or raise, got 'ignore'"):
        found(0.8, outside="ignore")  # type: ignore[arg-type]


def test_maps_come_back_from_a_file(tmp_path: Path) -> None:
    maps = [
        percentile_map(PAIRS, "none"),
        ScoreMap("probability", "center", (0.0, 1.0), (0.1, 0.9)),
    ]
    save_maps(maps, tmp_path / "map.json", {"subject": "vectors"})
    found = load_maps(tmp_path / "map.json")
    assert found["percentile", "none"] == maps[0]
    assert found["probability", "center"](0.5) == pytest.approx(0.5)
    held = json.loads((tmp_path / "map.json").read_text())
    assert held["maps"][1]["range"] == [0.0, 1.0]
    assert held["maps"][0]["pairs"] == PAIRS.count


def test_maps_of_the_first_version_are_read(tmp_path: Path) -> None:
    one = {"kind": "probability", "correction": "none", "scores": [0.1, 0.5], "values": [0, 1]}
    held = {"format": "isoscope score maps", "version": 1, "maps": [one]}
    (tmp_path / "map.json").write_text(json.dumps(held))
    found = load_maps(tmp_path / "map.json")["probability", "none"]
    assert (found.range, found.pairs) == ((0.1, 0.5), None)
    assert found(0.3) == pytest.approx(0.5)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"written to a \.json file"):
        save_maps([], tmp_path / "map.txt", {})
    (tmp_path / "other.json").write_text('{"format": "another"}')
    with pytest.raises(DataError, match="holds no maps of scores"):
        load_maps(tmp_path / "other.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataError, match="holds no maps of scores"):
        load_maps(tmp_path / "broken.json")
    with pytest.raises(UsageError, match="cannot be read"):
        load_maps(tmp_path / "missing.json")

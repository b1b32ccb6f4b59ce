from __future__ import annotations

import numpy as np
import pytest

import isoscope


def with_offset(rows: int = 20_000, width: int = 100) -> np.ndarray:
    """Ordinary vectors with a common offset: mean cosine 0.80."""
    random = np.random.default_rng(0)
    direction = random.standard_normal(width)
    offset = 2.0 * np.sqrt(width) * direction / np.linalg.norm(direction)
    return random.standard_normal((rows, width)) + offset


def with_noisy_dimension(rows: int = 20_000, width: int = 100) -> np.ndarray:
    """Ordinary vectors with one large and noisy dimension: mean cosine 0.80 too."""
    random = np.random.default_rng(1)
    cloud = random.standard_normal((rows, width))
    cloud[:, 17] = 32.0 + 15.0 * random.standard_normal(rows)
    return cloud


def verdict(cloud: object) -> dict[str, object]:
    return isoscope.measure(cloud).verdicts[0]


def test_the_same_mean_cosine_from_two_causes() -> None:
    for cloud in (with_offset(), with_noisy_dimension()):
        assert isoscope.measure(cloud).value("mean_cosine") == pytest.approx(0.80, abs=0.01)
    offset, noisy = verdict(with_offset()), verdict(with_noisy_dimension())
    assert offset["cause"] == "common offset"
    assert "centring brings them down" in str(offset["implies"])
    assert noisy["cause"] == "outlier dimensions"
    assert "dimension 17 " in str(noisy["sentence"])
    assert "clipping can" in str(noisy["implies"])


def test_a_healthy_cloud_gets_none() -> None:
    assert verdict(np.random.default_rng(0).standard_normal((5_000, 64)))["cause"] == "none"


def test_a_healthy_cloud_of_tensors_gets_none() -> None:
    torch = pytest.importorskip("torch")
    assert verdict(torch.randn(500, 300, generator=torch.Generator().manual_seed(0)))["cause"] == (
        "none"
    )


def test_an_offset_in_one_dimension_can_be_centred_away() -> None:
    cloud = np.random.default_rng(0).standard_normal((5_000, 64))
    cloud[:, 5] += 20
    found = verdict(cloud)
    assert found["cause"] == "outlier dimensions"
    assert "act as a common offset" in str(found["implies"])


def test_a_noisy_dimension_around_zero() -> None:
    cloud = np.random.default_rng(0).standard_normal((5_000, 64))
    cloud[:, 9] *= 30
    found = verdict(cloud)
    assert found["cause"] == "outlier dimensions"
    assert "dimension 9 " in str(found["sentence"])


def test_low_rank_and_dead_dimensions() -> None:
    random = np.random.default_rng(0)
    flat = random.standard_normal((3_000, 3)) @ random.standard_normal((3, 80))
    assert verdict(flat)["cause"] == "low rank"
    dead = random.standard_normal((3_000, 80))
    dead[:, [3, 70]] = 0.5
    found = verdict(dead)
    assert found["cause"] == "dead dimensions"
    assert found["sentence"] == "Dead dimensions: 2 of 80 never vary (3, 70)."


def test_several_findings_are_all_told() -> None:
    cloud = with_offset()
    cloud[:, 4] = 1.0
    found = verdict(cloud)
    assert found["cause"] == "common offset"
    assert any("Dead dimensions: 1 of 100 never varies (4)." in line for line in found["also"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [8, 16, 24, 32, 300])
def test_an_offset_in_a_random_direction_is_no_outlier(width: int) -> None:
    """In few dimensions a few carry half of any direction."""
    causes = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        direction = random.standard_normal(width)
        offset = 2 * np.sqrt(width) * direction / np.linalg.norm(direction)
        causes.append(verdict(random.standard_normal((300, width)) + offset)["cause"])
    assert causes.count("common offset") >= 38


def test_outliers_in_few_dimensions() -> None:
    cloud = np.random.default_rng(0).standard_normal((2_000, 4))
    cloud[:, 1] *= 100
    assert verdict(cloud)["cause"] == "outlier dimensions"


def test_one_long_vector() -> None:
    cloud = np.random.default_rng(0).standard_normal((5_000, 64))
    cloud[7] *= 200
    found = verdict(cloud)
    assert found["cause"] == "long vectors"
    shifted = verdict(cloud + 3)
    assert shifted["cause"] == "long vectors"
    assert any("common offset" in line for line in shifted["also"])  # type: ignore[attr-defined]


def test_unit_vectors_share_what_the_mean_does_not_show() -> None:
    """Nine in ten point one way, the tenth is nine times as long and points the other way."""
    random = np.random.default_rng(0)
    cloud = 0.1 * random.standard_normal((5_000, 30))
    cloud[:, :] += np.where(np.arange(5_000) % 10 == 0, -9.0, 1.0)[:, None] / np.sqrt(30)
    result = isoscope.measure(cloud)
    assert result.verdicts[0]["cause"] == "uneven lengths"
    cosines = result.value("mean_cosine"), result.value("mean_cosine", "center")
    assert cosines[1] == pytest.approx(cosines[0], abs=0.05)


def test_the_verdict_does_not_depend_on_the_order_of_corrections() -> None:
    result = isoscope.measure(with_offset(), corrections=["center", "none"])
    assert result.verdicts[0]["cause"] == "common offset"


def test_a_constant_cloud() -> None:
    for rows in (50, 1_000, 20_000):
        assert verdict(np.full((rows, 6), 0.1))["cause"] == "constant"
    assert verdict(np.full((50, 6), 0.1, np.float32))["cause"] == "constant"
    assert verdict(np.zeros((50, 6)))["cause"] == "constant"


def test_no_verdict_rests_on_length() -> None:
    for cloud in (with_offset(), with_noisy_dimension()):
        causes = {verdict(cloud * factor)["cause"] for factor in (1e-3, 1, 1e3)}
        assert len(causes) == 1

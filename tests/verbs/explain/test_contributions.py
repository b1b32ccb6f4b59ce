"""Causes that are planted in tokens: the largest is named, and none where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from isoscope.verbs.explain.contributions import (
    FREQUENCY,
    NORMS,
    OUTLIERS,
    POSITION,
    Comparison,
    LayerTokens,
    Shifts,
    band_effects,
    compare_causes,
    dealt_within,
    group_sums,
    position_bands,
    unevenness,
    unit,
)

CAUSES = (FREQUENCY, POSITION, NORMS, OUTLIERS)
TEXTS, LENGTH, KINDS, DIMENSION = 80, 30, 300, 48


def tokens(
    seed: int = 0,
    *,
    number: int = TEXTS,
    frequency: float = 0.0,
    position: float = 0.0,
    outlier: float = 0.0,
    gain: float = 0.0,
    spectrum: float = 0.0,
    offset: float = 0.0,
    text: float = 0.3,
) -> LayerTokens:
    """Make texts of Zipf's words, each with a vector of its own, and plant causes of some size."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, KINDS + 1)
    texts = np.repeat(np.arange(number), LENGTH)
    positions = np.tile(np.arange(LENGTH), number)
    kinds = random.choice(KINDS, len(texts), p=weights / weights.sum())
    vectors = random.normal(size=(KINDS, DIMENSION))[kinds]
    vectors += random.normal(size=vectors.shape)
    vectors += text * random.normal(size=(number, DIMENSION))[texts]
    # Directions at random, so that no dimension stands out but those that are planted.
    axes = np.linalg.qr(random.normal(size=(DIMENSION, DIMENSION)))[0]
    scales = np.exp(-spectrum * np.arange(DIMENSION) / DIMENSION)
    vectors = (vectors * scales) @ axes
    log_frequencies = np.log10(weights / weights.sum())[kinds]
    root = np.sqrt(DIMENSION)
    vectors += offset * root * axes[0]
    vectors += frequency * root * np.outer(log_frequencies + 3, axes[1])
    vectors += position * root * np.outer(positions / LENGTH - 0.5, axes[2])
    bare = None
    if gain:
        bare = vectors.copy()
        gains = np.exp(gain * random.normal(size=DIMENSION))
        vectors = vectors * gains + gain * random.normal(size=DIMENSION)
    vectors[:, 7] += outlier * root
    outliers = [7] if outlier else []
    return LayerTokens(vectors, kinds, positions, texts, log_frequencies, outliers, bare)


def some_of(made: LayerTokens, kept: NDArray[np.bool_]) -> LayerTokens:
    """Return some of the tokens."""
    assert made.log_frequencies is not None
    return replace(
        made, vectors=made.vectors[kept], kinds=made.kinds[kept], positions=made.positions[kept],
        texts=made.texts[kept], log_frequencies=made.log_frequencies[kept],
    )  # fmt: skip


def values(found: Comparison) -> dict[str, float | None]:
    return {one.cause: one.score.value for one in found.contributions}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("cause", "planted"),
    [
        (FREQUENCY, {"frequency": 0.6, "position": 0.8, "outlier": 0.15}),
        (POSITION, {"frequency": 0.15, "position": 3.0, "outlier": 0.15}),
        (OUTLIERS, {"frequency": 0.2, "position": 0.8, "outlier": 0.8}),
        (NORMS, {"frequency": 0.15, "position": 0.5, "gain": 1.0}),
    ],
)
def test_the_largest_cause_is_named(cause: str, planted: dict[str, float], seed: int) -> None:
    found = compare_causes(tokens(seed, **planted), CAUSES)
    assert found.uneven
    assert [one.cause for one in found.largest] == [cause], values(found)
    first = found.contributions[0].score
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.value < first.high


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("planted", [{"offset": 1.0}, {"spectrum": 6.0}])
def test_the_largest_entries_of_any_direction_are_no_cause(
    planted: dict[str, float], seed: int, number: int
) -> None:
    made = tokens(seed, **planted)
    units = unit(made.vectors)
    main = np.linalg.eigh(units.T @ units)[1][:, -1]
    largest = np.argsort(-np.abs(main))[:number].tolist()
    found = compare_causes(replace(made, outliers=largest), (OUTLIERS,))
    assert found.found == [], values(found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "planted",
    [
        {"offset": 1.0},
        {"spectrum": 4.0},
        {"offset": 0.5, "spectrum": 2.0, "text": 1.0},
        {"text": 1.5, "spectrum": 2.0},
    ],
)
def test_no_cause_is_named_where_none_is_planted(planted: dict[str, float], seed: int) -> None:
    found = compare_causes(tokens(seed, **planted), CAUSES)
    assert found.uneven
    assert found.found == [], values(found)


def test_nothing_is_to_be_explained_in_an_even_space() -> None:
    random = np.random.default_rng(3)
    even = replace(tokens(), vectors=random.normal(size=(TEXTS * LENGTH, DIMENSION)))
    found = compare_causes(even, CAUSES)
    assert not found.uneven
    assert found.largest == []
    assert found.mean_squared_cosine == pytest.approx(1 / DIMENSION, rel=0.05)


def test_of_two_equal_causes_none_is_the_largest() -> None:
    found = compare_causes(tokens(5, position=2.25, frequency=0.5), (POSITION, FREQUENCY))
    assert {one.cause for one in found.largest} == {POSITION, FREQUENCY}, values(found)


def test_words_that_begin_texts_are_no_effect_of_positions() -> None:
    made = tokens(2)
    kinds = made.kinds.copy()
    kinds[made.positions < 3] = 0
    random = np.random.default_rng(8)
    of_kind = 3 * random.normal(size=(KINDS, DIMENSION))
    vectors = of_kind[kinds] + random.normal(size=made.vectors.shape)
    found = compare_causes(replace(made, kinds=kinds, vectors=vectors), (POSITION,))
    assert found.found == [], values(found)


def test_what_is_known_of_the_spread_is_said() -> None:
    few = tokens(position=3.0, outlier=0.5)
    kept = few.texts < 10
    few = some_of(few, kept)
    found = compare_causes(few, CAUSES)
    assert found.found == []
    notes = {one.cause: one.score.note for one in found.contributions}
    assert notes[OUTLIERS] == "no interval from fewer than 20 texts"
    assert notes[NORMS] == "no norm with gains that can be undone ends this layer"
    assert notes[POSITION] == "too few tokens, or too short texts, to compare positions"
    once = replace(tokens(), kinds=np.arange(TEXTS * LENGTH), log_frequencies=None)
    notes = {one.cause: one.score.note for one in compare_causes(once, CAUSES).contributions}
    assert notes[POSITION] == "too few tokens occur more than once to separate positions from them"
    assert notes[FREQUENCY] == "frequencies are not known"


def test_intervals_hold_the_share_of_all_texts() -> None:
    """Intervals from some texts hold what all texts show about as often as they should."""
    everything = tokens(number=40 * TEXTS, outlier=0.3, text=1.0)
    truth = compare_causes(everything, (OUTLIERS,)).contributions[0].score.value
    assert truth is not None
    inside = []
    for first in range(0, 40 * TEXTS, TEXTS):
        drawn = (everything.texts >= first) & (everything.texts < first + TEXTS)
        found = compare_causes(some_of(everything, drawn), (OUTLIERS,)).contributions[0].score
        assert found.low is not None
        assert found.high is not None
        inside.append(found.low < truth < found.high)
    assert np.mean(inside) >= 0.85


def test_deals_need_no_rows() -> None:
    made = tokens(1, frequency=0.4, position=1.0)
    units = unit(made.vectors)
    shifts = Shifts(units, units.T @ units / len(units))
    bands = position_bands(made.positions, made.texts)
    number = int(bands.max()) + 1
    kinds = np.unique(made.kinds, return_inverse=True)[1]
    counts = np.bincount(kinds)
    means = group_sums(kinds, len(counts)) @ units / counts[:, None]
    effects = band_effects(bands, number, kinds, counts, units, means)
    design = group_sums(bands, number).T.tocsr()
    left = unevenness(units - effects[bands], DIMENSION).value
    assert shifts.left(design, effects) == pytest.approx(left, abs=1e-12)


def test_effects_of_bands_are_those_of_least_squares() -> None:
    made = tokens(4, position=2.0)
    rows = unit(made.vectors)
    bands = position_bands(made.positions, made.texts)
    number = int(bands.max()) + 1
    kinds = np.unique(made.kinds, return_inverse=True)[1]
    counts = np.bincount(kinds)
    means = group_sums(kinds, len(counts)) @ rows / counts[:, None]
    effects = band_effects(bands, number, kinds, counts, rows, means)
    design = np.hstack([np.eye(number)[bands], np.eye(len(counts))[kinds]])
    fitted = np.linalg.lstsq(design, rows, rcond=None)[0][:number]
    sizes = np.bincount(bands)
    np.testing.assert_allclose(effects, fitted - sizes @ fitted / sizes.sum(), atol=1e-10)


def test_dealing_keeps_the_values_of_every_kind() -> None:
    made = tokens()
    dealt = dealt_within(made.positions, made.kinds, np.random.default_rng(0))
    assert (dealt != made.positions).mean() > 0.5
    for kind in range(0, KINDS, 50):
        own = made.kinds == kind
        np.testing.assert_array_equal(np.sort(dealt[own]), np.sort(made.positions[own]))


def test_zero_vectors_are_left_out() -> None:
    made = tokens(outlier=0.5)
    vectors = made.vectors.copy()
    vectors[5] = 0
    found = compare_causes(replace(made, vectors=vectors), CAUSES)
    assert found.contributions[0].cause == OUTLIERS

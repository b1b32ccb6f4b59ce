from __future__ import annotations

import numpy as np
import pytest
from contextual_for_tests import made_up_text, vectors_by_word

from isoscope.measures.context.definitions import (
    MINIMUM,
    explained_variance,
    occurrences_per_word,
)
from isoscope.measures.context.sums import ContextualTaker

pytest.importorskip("torch")


def by_svd(vectors: np.ndarray) -> float:
    squares = np.linalg.svd(vectors.astype(np.float64), compute_uv=False) ** 2
    return float(squares[0] / squares.sum())


def test_words_are_compared_with_as_many_random_vectors() -> None:
    draw = np.random.default_rng(1)
    words = [draw.standard_normal((n, 9)) + 1 for n in (5, 5, 8, 4, 2)]
    sample = draw.standard_normal((30, 9))
    found = explained_variance(words, sample)
    assert found.words == 3
    assert found.occurrences == 18
    assert found.mean == pytest.approx(np.mean([by_svd(one) for one in words[:3]]), rel=1e-12)
    of_five = np.mean([by_svd(sample[k : k + 5]) for k in range(0, 30, 5)])
    of_eight = np.mean([by_svd(sample[k : k + 8]) for k in (0, 8, 16)])
    assert found.random == pytest.approx((2 * of_five + of_eight) / 3, rel=1e-12)


def test_random_vectors_explain_themselves() -> None:
    draw = np.random.default_rng(2)
    words = [draw.standard_normal((n, 20)) for n in draw.integers(5, 40, 200)]
    found = explained_variance(words, draw.standard_normal((500, 20)))
    assert found.mean is not None
    assert found.random == pytest.approx(found.mean, abs=0.01)


def test_zero_vectors_are_left_out() -> None:
    draw = np.random.default_rng(3)
    word = draw.standard_normal((6, 4))
    with_zeros = np.insert(word, [0, 3, 3], 0, axis=0)
    found = explained_variance([with_zeros, np.zeros((9, 4))], draw.standard_normal((20, 4)))
    assert found.mean == pytest.approx(by_svd(word), rel=1e-12)
    assert (found.words, found.occurrences) == (1, 6)


def test_too_few_random_vectors_leave_the_correction_open() -> None:
    draw = np.random.default_rng(4)
    found = explained_variance([draw.standard_normal((7, 4))], draw.standard_normal((6, 4)))
    assert found.mean is not None
    assert found.random is None
    assert explained_variance([], np.empty((0, 4))).mean is None


def test_small_memory_gives_up_occurrences_before_words() -> None:
    assert occurrences_per_word(30_000) == 100
    assert occurrences_per_word(5_000) == 25
    assert occurrences_per_word(100) == 10


@pytest.mark.parametrize("subwords", ["first", "mean", "last"])
def test_values_are_those_of_all_words_where_all_fit(subwords: str) -> None:
    text = made_up_text(5, sentences=40)
    taker = ContextualTaker(text.widths, subwords=subwords)  # type: ignore[arg-type]
    for batch in text.batches():
        taker.add(batch)
    for layer, found in taker.result({}).items():
        words = [
            np.stack(vectors)
            for vectors in vectors_by_word(text, layer, subwords).values()
            if len(vectors) >= MINIMUM
        ]
        assert len(words) > 3
        value = found.values["max_explainable_variance"]
        assert value.extra["words"] == len(words)
        assert value.value == pytest.approx(np.mean([by_svd(one) for one in words]), rel=1e-6)
        corrected = found.values["max_explainable_variance/corrected"].value
        random = value.extra["random"]
        assert random is not None
        assert corrected == pytest.approx(value.value - random)


def test_memory_bounds_the_words() -> None:
    text = made_up_text(6, sentences=200, vocabulary=60)
    few = ContextualTaker(text.widths, limit_bytes=40_000)
    for batch in text.batches():
        few.add(batch)
    arrays = few.to_arrays()
    taken = arrays["occurrences.vectors.0"].nbytes + arrays["occurrences.vectors.1"].nbytes
    taken += arrays["random.vectors.0"].nbytes + arrays["random.vectors.1"].nbytes
    assert 5_000 < taken <= 10_000
    value = few.result({})["block 0"].values["max_explainable_variance"]
    words = value.extra["words"]
    assert words is not None
    assert 1 <= words < 60
    assert f"{words} words chosen by hash, 5 to 10 occurrences each" in value.note

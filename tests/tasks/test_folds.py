"""Folds hold every item once, are even, and keep items that share a text together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.errors import UsageError
from isoscope.tasks.datasets.beir import RetrievalSet, Texts
from isoscope.tasks.folds import connected, dealt
from isoscope.tasks.problems.pairs import ScoredPairs
from isoscope.tasks.problems.retrieval import RetrievalProblem
from isoscope.tasks.problems.word_senses import WordSenseProblem
from isoscope.tasks.registry import TextPair, WordInContext


def problem(pairs: list[tuple[int, int]]) -> ScoredPairs:
    return ScoredPairs.of("toy", [TextPair(str(a), str(b), 0.0, "") for a, b in pairs])


def test_pairs_that_share_a_text_are_connected() -> None:
    found = connected(problem([(0, 1), (2, 3), (1, 4), (5, 5), (3, 6)]))
    assert found.tolist() == [0, 1, 0, 2, 1]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=5), st.integers(0, 3))
def test_every_item_is_in_one_fold(pairs: list[tuple[int, int]], seed: int) -> None:
    made = problem(pairs)
    folds = dealt(made, 5, seed)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(len(pairs)))
    groups = connected(made)
    sizes = np.bincount(groups)
    if sizes.max() <= 2 * len(pairs) / 5 and len(sizes) >= 5:
        for held in folds:
            others = np.setdiff1d(np.arange(len(pairs)), held)
            assert not set(made.rows_of(held)) & set(made.rows_of(others))
    else:
        assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_folds_are_even_and_seeded() -> None:
    made = problem([(2 * k, 2 * k + 1) for k in range(103)])
    folds = dealt(made, 5)
    assert sorted(map(len, folds)) == [20, 20, 21, 21, 21]
    assert all(np.array_equal(a, b) for a, b in zip(folds, dealt(made, 5), strict=True))
    assert not np.array_equal(folds[0], dealt(made, 5, seed=1)[0])


def test_words_of_a_text_and_queries_of_a_search() -> None:
    example = WordInContext("b", "N", "a b", "c b", 1, 1, (2, 3), (2, 3), True, "train")
    other = replace(example, first="d b", second="e b")
    same_text = replace(other, first="a b", first_index=0, first_span=(0, 1), second="f b")
    senses = WordSenseProblem.of("wic", [example, other, same_text])
    assert connected(senses).tolist() == [0, 1, 0]
    held = senses.held_out(np.array([0]))
    texts = {senses.texts[senses.mentions[row].text] for row in held}
    assert texts == {"a b", "c b"}
    assert len(held) == 3  # both words of the text that two pairs have
    ids = Texts(("q1", "q2"), None), Texts(("d1", "d2"), None)
    data = RetrievalSet(*ids, {"q1": {"d1": 1}, "q2": {"d2": 1}})
    assert connected(RetrievalProblem.of_vectors("toy", data, 4)).tolist() == [0, 1]


def test_too_few_items() -> None:
    with pytest.raises(UsageError, match="two to 20"):
        dealt(problem([(2 * k, 2 * k + 1) for k in range(100)]), 64)
    with pytest.raises(UsageError, match="3 pairs cannot be dealt into 5 folds"):
        dealt(problem([(0, 1), (2, 3), (4, 5)]))

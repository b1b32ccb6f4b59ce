"""Whether two clouds have the same rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError, UsageError
from isoscope.verbs.diff.paired import row_match as row_matching
from isoscope.verbs.diff.paired.row_match import match_rows


def cloud(name: str, words: Sequence[object] | int, key: str = "word") -> ArrayCloud:
    rows = words if isinstance(words, int) else len(words)
    labels = {} if isinstance(words, int) else {key: np.array(list(words), dtype=object)}
    return ArrayCloud(np.arange(rows)[:, None] * np.ones(2), name, labels=labels)


def test_without_ids_the_vectors_decide() -> None:
    found = match_rows(cloud("a", 5), cloud("b", 5), same_rows=None)
    assert found.same
    assert "no ids, but all of 5 sampled rows are equal; --other-rows" in found.sentence
    random = np.random.default_rng(0)
    a, b = (ArrayCloud(random.standard_normal((200, 6)), name) for name in "ab")
    found = match_rows(a, b, same_rows=None)
    assert not found.same
    assert "there are no ids" in found.sentence
    assert "--same-rows" in found.sentence
    assert match_rows(a, b, same_rows=True).same
    assert not match_rows(cloud("a", 5), cloud("b", 5), same_rows=False).same


def test_other_numbers_of_rows_are_other_rows() -> None:
    found = match_rows(cloud("a", 5), cloud("b", 6), same_rows=None)
    assert not found.same
    assert "5 and 6 rows" in found.sentence
    with pytest.raises(UsageError, match="a has 5 rows and b 6"):
        match_rows(cloud("a", 5), cloud("b", 6), same_rows=True)


def test_ids_decide_where_both_have_them() -> None:
    a = cloud("a", ["x", "y", "z"])
    assert (
        "same word in the same order" in match_rows(a, cloud("b", "xyz"), same_rows=None).sentence
    )
    found = match_rows(a, cloud("b", "uvw"), same_rows=None)
    assert not found.same
    assert "0 of 3 and 3 rows have the same word." in found.sentence
    with pytest.raises(DataError, match="no word of a is in b"):
        match_rows(a, cloud("b", "uvw"), same_rows=True)


def test_rows_in_another_order_are_brought_together() -> None:
    a, b = cloud("a", ["x", "y", "z"]), cloud("b", "zxy")
    found = match_rows(a, b, same_rows=None)
    assert found.same
    assert found.clouds[0].rows == found.clouds[1].rows == 3
    (second,) = (batches["b"].vectors[:, 0].tolist() for batches in found.clouds[1].batches())
    assert second == [1, 2, 0]
    assert [list(batches["b"].labels["word"]) for batches in found.clouds[1].batches()] == [
        ["x", "y", "z"]
    ]


def test_rows_without_a_partner_are_counted() -> None:
    a, b = cloud("a", ["x", "y", "y", "z", "q"]), cloud("b", "zyxw")
    assert "2 of 5 and 4 rows" in match_rows(a, b, same_rows=None).sentence
    found = match_rows(a, b, same_rows=True)  # y stands twice in A: it has no single partner
    assert "2 in common; 3 of A and 2 of B have no partner" in found.sentence


def test_numbers_and_texts_are_the_same_id() -> None:
    found = match_rows(
        cloud("a", [3, 1, 2], "id"), cloud("b", ["1", "2", "3"], "id"), same_rows=None
    )
    assert found.clouds[0].rows == found.clouds[1].rows == 3


def test_many_rows_in_another_order_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_matching, "MOST_MATCHED", 20)
    names = [f"w{k}" for k in range(100)]
    found = match_rows(cloud("a", names), cloud("b", names[::-1]), same_rows=None, seed=1)
    assert "a random 20 of them" in found.sentence
    a, b = (next(iter(group.batches()))[group.names[0]].vectors[:, 0] for group in found.clouds)
    assert len(a) == 20
    np.testing.assert_array_equal(a, 99 - b)


def test_a_label_is_named() -> None:
    a, b = cloud("a", "xy", "key"), cloud("b", "xy", "name")
    assert "no ids" in match_rows(a, b, same_rows=None).sentence
    with pytest.raises(UsageError, match="no label of b is called 'key'.*known: name"):
        match_rows(a, b, same_rows=None, ids="key")
    both = [cloud(name, "xy", "page") for name in "ab"]
    assert "no ids" in match_rows(*both, same_rows=None, documents="page").sentence

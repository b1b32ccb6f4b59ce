"""Sentences about neighbours: what changes, and what is chance or too small."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.results.result import Row
from isoscope.verbs.measure.search.names import (
    DIFFERENCE,
    KEPT,
    REDUCED_BYTES,
    REDUCED_KEPT,
    REDUCED_RESCORED,
    measure_name,
)
from isoscope.verbs.measure.search.text import TOLD, listing, reduction_remarks
from isoscope.verbs.measure.search.text import neighbour_remarks as remarks


def rows_with(changes: dict[str, tuple[float, float]], kept: float) -> list[Row]:
    """Recalls of 0.5 that change by so much, each known to so much."""
    rows = []
    for correction in ("none", "center"):
        value = kept if correction == "center" else 1.0
        rows.append(Row("x", "", correction, measure_name(KEPT), value))
        for figure in TOLD:
            change, reach = changes.get(figure, (0.0, 0.001))
            after = 0.5 + change * (correction == "center")
            rows.append(Row("x", "", correction, measure_name(figure), after))
            if correction == "center":
                name = measure_name(f"{figure}/{DIFFERENCE}")
                low, high = change - reach, change + reach
                rows.append(Row("x", "", correction, name, change, low=low, high=high))
    return rows


@pytest.mark.parametrize(
    ("changes", "kept", "line"),
    [
        (
            {"binary": (0.27, 0.01)},
            0.97,
            "center raises the recall of binary codes from 0.50 to 0.77, and keeps 0.97 of the 10 "
            "nearest neighbours.",
        ),
        (
            {"ivf": (-0.1, 0.01), "hnsw": (-0.2, 0.01), "binary": (0.02, 0.01)},
            0.5,
            "center raises the recall of binary codes from 0.50 to 0.52, but lowers the recall of "
            "HNSW from 0.50 to 0.30 and IVF from 0.50 to 0.40, and keeps 0.50 of the 10 nearest "
            "neighbours.",
        ),
        (
            {"binary": (0.05, 0.06), "ivf": (0.009, 0.001)},  # chance; too small
            0.9,
            "center changes no recall by a significant 0.01 or more, though such a change is not "
            "ruled out, and keeps 0.90 of the 10 nearest neighbours.",
        ),
        (
            {"binary": (0.002, 0.006), "ivf": (0.008, 0.001)},
            0.9,
            "center changes no recall by 0.01 or more, and keeps 0.90 of the 10 nearest "
            "neighbours: for this search only the neighbours change.",
        ),
        (
            {},
            0.999,
            "center changes no recall by 0.01 or more, and keeps the neighbours: for this search "
            "nothing changes.",
        ),
    ],
)
def test_a_sentence_for_a_correction(
    changes: dict[str, tuple[float, float]], kept: float, line: str
) -> None:
    first, last = remarks(rows_with(changes, kept), 10)
    assert first == line
    assert last.startswith("No labels were used")


@given(
    st.dictionaries(st.sampled_from(list(TOLD)), st.tuples(st.floats(-0.1, 0.1), st.floats(0, 0.1)))
)
def test_sentences_agree_with_the_intervals_of_changes(
    changes: dict[str, tuple[float, float]],
) -> None:
    said, _ = remarks(rows_with(changes, 0.9), 10)
    significant = {name for name, (change, reach) in changes.items() if abs(change) > reach}
    for figure, words in TOLD.items():
        change, _ = changes.get(figure, (0.0, 0.0))
        told = re.search(rf"(?:of|,|and) {words} from", said)
        worthwhile = 0.02 if figure in ("hnsw", "ivf") else 0.01
        assert (told is not None) == (figure in significant and abs(change) >= worthwhile)
        if told:
            verb = "raises" if change > 0 else "lowers"
            assert verb in said[: told.start()]
    if "changes no recall by 0.01" in said:
        assert all(abs(change) + reach < 0.01 for change, reach in changes.values())


def reduced(kept: dict[tuple[str, str], tuple[float, float, float]]) -> list[Row]:
    """Rows of shorter vectors: how much of the neighbours they keep, with its interval."""
    rows = []
    sizes = {"none": 64.0, "pca:32": 32.0, "pca:16": 16.0}
    for (way, code), (low, value, high) in kept.items():
        extra = {"way": "pca", "components": sizes[way] / 4}
        rows.append(Row("x", code, way, REDUCED_BYTES, sizes[way], extra=extra))
        rows += [
            Row("x", code, way, measure, value, low=low, high=high, extra=extra)
            for measure in (REDUCED_KEPT, REDUCED_RESCORED)
        ]
    return rows


def test_changes_are_said_by_holms_correction() -> None:
    rows = rows_with({"binary": (0.05, 0.04)}, 0.9)
    place = next(k for k, row in enumerate(rows) if row.measure == "neighbours/binary/difference")
    assert remarks(rows, 10)[0].startswith("center raises the recall of binary codes")
    rows[place] = replace(rows[place], extra={"p_holm": 0.06})
    assert remarks(rows, 10)[0].startswith("center changes no recall by a significant 0.01")


FULL = {("none", "float32"): (0.9, 1.0, 1.0)}


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ((0.951, 0.96, 0.97), "The shortest that keep 0.95 of the neighbours alone: pca to 8.0 "
         "components as float32, 32 of 64 bytes, 0.96 (0.95 to 0.97)."),
        ((0.93, 0.96, 0.97), "Nothing shorter is certain to keep 0.95 of the neighbours alone; the "
         "nearest is pca to 8.0 components as float32, with 0.96 (0.93 to 0.97)."),
        ((0.93, 0.944, 0.956), "Nothing shorter is certain to keep 0.95 of the neighbours alone; "
         "the nearest is pca to 8.0 components as float32, with 0.94 (0.93 to 0.96)."),
        ((0.93, 0.94, 0.949), "Nothing shorter keeps 0.95 of the neighbours alone."),
    ],
)  # fmt: skip
def test_vectors_are_short_enough_by_their_interval(
    kept: tuple[float, float, float], wanted: str
) -> None:
    assert reduction_remarks(reduced({**FULL, ("pca:32", "float32"): kept}))[0] == wanted


def test_nothing_to_compare() -> None:
    alone = [row for row in rows_with({}, 1.0) if row.correction == "none"]
    assert remarks(alone, 10) == []


def test_words_are_joined() -> None:
    assert [listing(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a", "a and b", "a, b and c",
    ]  # fmt: skip

"""Sentences about neighbours: what changes, and what is chance or too small."""

from __future__ import annotations

import pytest

from isoscope.results.result import Row
from isoscope.verbs.measure.search.names import DIFFERENCE, KEPT, measure_name
from isoscope.verbs.measure.search.text import TOLD, listing
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
            "center moves no recall by 0.01 or more, and keeps 0.90 of the 10 nearest neighbours: "
            "for this search only the neighbours change.",
        ),
        (
            {},
            0.999,
            "center moves no recall by 0.01 or more, and keeps the neighbours: for this search "
            "nothing changes.",
        ),
    ],
)
def test_a_sentence_for_a_correction(
    changes: dict[str, tuple[float, float]], kept: float, line: str
) -> None:
    first, last = remarks(rows_with(changes, kept), 10)
    assert first == line
    assert last.startswith("No label was used")


def test_nothing_to_compare() -> None:
    alone = [row for row in rows_with({}, 1.0) if row.correction == "none"]
    assert remarks(alone, 10) == []


def test_words_are_joined() -> None:
    assert [listing(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a", "a and b", "a, b and c",
    ]  # fmt: skip

"""Replicates of differences and of means, from those of the figures that they are made of."""

from __future__ import annotations

from typing import Any

from isoscope.results.result import Row
from isoscope.verbs.study.judgement.replicates import difference_replicates, mean_replicates


def figure(correction: str, measure: str, *replicates: float, blocks: str = "pairs") -> Row:
    extra: dict[str, Any] = {"replicates": [*replicates], "blocks": blocks} if replicates else {}
    return Row("mine", "", correction, measure, 0.5, extra=extra)


def test_a_difference_is_that_of_its_replicates() -> None:
    rows = [
        figure("none", "men", 1.0, 2.0),
        figure("center", "men", 3.0, 5.0),
        figure("center", "men/difference"),
        figure("center", "other/difference"),
    ]
    found = difference_replicates(rows)
    assert found[:2] == rows[:2]
    assert found[2].extra == {"replicates": [2.0, 3.0], "blocks": "pairs"}
    assert found[3] == rows[3]  # of which there is no figure
    other = [figure("none", "men", 1.0, 2.0, blocks="fewer pairs"), *rows[1:]]
    assert difference_replicates(other)[2].extra == {}


def test_means_of_seeds_and_of_sets() -> None:
    one, other = figure("none", "a", 1.0, 2.0), figure("none", "b", 3.0, 6.0)
    assert mean_replicates([one, other]) == {"replicates": [2.0, 4.0], "blocks": "pairs"}
    apart = figure("none", "b", 3.0, 6.0, blocks="pairs of another set")
    assert mean_replicates([one, apart]) == {}
    assert mean_replicates([one, apart], "both sets")["blocks"] == "both sets"
    assert mean_replicates([one, figure("none", "b", 1.0)], "both sets") == {}
    assert mean_replicates([one, figure("none", "b")], "both sets") == {}
    assert mean_replicates([]) == {}

"""What relations say, in a sentence."""

from __future__ import annotations

from isoscope.results.result import Row
from isoscope.verbs.evaluate.text import DIRECTION, ISOTROPY, SCORE, sentence


def row(value: float | None, low: float | None, high: float | None, name: str = "i1") -> Row:
    extra = {SCORE: "sts-b/x", ISOTROPY: name, DIRECTION: "neither" if name == "a" else "higher"}
    return Row(
        "all", "", "none", f"sts-b/x ~ {name}", value, low=low, high=high, n=28,
        extra={**extra, "models": 2},
    )  # fmt: skip


def test_one_relation_is_told_with_its_figures() -> None:
    assert sentence("all spaces", [row(-0.31, -0.6, 0.1), row(1.0, 0.9, 1.0, "a")]) == (
        "all spaces: over 28 spaces of 2 models, isotropy by i1 and sts-b/x, "
        "ρ = -0.31 (-0.60 to +0.10): no significant relation."
    )
    assert sentence("q", [row(-0.5, -0.6, -0.1)]).endswith(": more isotropic spaces score worse.")
    assert sentence("q", [row(0.5, 0.1, 0.6)]).endswith(": more isotropic spaces score better.")
    assert sentence("q", [row(0.5, None, None)]).endswith("chance cannot be excluded.")
    assert sentence("q", [row(None, None, None)]) == "q: no relation is defined."


def test_several_are_counted_and_the_strongest_that_is_told_from_none_is_named() -> None:
    rows = [
        row(0.5, 0.2, 0.7, "b"),
        row(-0.6, -0.8, -0.3, "c"),
        row(0.9, -0.1, 1.0, "d"),
        row(1.0, None, None, "e"),
        row(None, None, None, "f"),
        row(-1.0, -1.0, -0.9, "a"),
    ]
    assert sentence("q", rows) == (
        "q: over 28 spaces of 2 models, 1 of 4 relations say that more isotropic spaces score "
        "better, 1 that they score worse, 1 are not significant, 1 have no interval; the "
        "strongest is isotropy by c and sts-b/x, ρ = -0.60 (-0.80 to -0.30)."
    )

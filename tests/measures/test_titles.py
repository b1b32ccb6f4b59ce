"""Titles of measures."""

from __future__ import annotations

import pytest

from isoscope.measures.registry import all_measures
from isoscope.measures.titles import title_of


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("effective_rank", "effective rank"),
        ("cosine_quantiles/99%", "99 % of random pairs are below"),
        ("cosine_quantiles/50%", "median cosine of random pairs"),
        ("local_i1:n_clusters=3:seeds=2", "I1 within clusters (n_clusters=3, seeds=2)"),
        ("intra_sim/by_count", "similarity within a token type, by count"),
        ("self_similarity/corrected", "self-similarity of a word, less the mean cosine"),
        ("bias_over_gain", "bias over gain"),
    ],
)
def test_keys_have_titles(key: str, title: str) -> None:
    assert title_of(key) == title


def test_no_number_is_called_anisotropy_and_every_measure_has_a_formula() -> None:
    for measure in all_measures():
        assert measure.formula
        names = (measure.name, measure.alias, measure.title, title_of(measure.name))
        assert not any("isotropy" in name.lower() for name in names), measure.name

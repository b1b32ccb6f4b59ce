"""Titles of measures."""

from __future__ import annotations

import pytest

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

"""The precision of thresholds where matches are rare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.estimates import Estimate, mean_score
from isoscope.errors import UsageError
from isoscope.verbs.threshold.base_rate import (
    BaseRate,
    base_rate_of,
    labelled_matches,
    precision_at,
    rate_words,
    read_rate,
    reweighted_precision,
    search_precision,
)

RECALL = mean_score(np.arange(100) < 80)
KNOWN = BaseRate(0.001, "given", "as given", 0.001)


@pytest.mark.parametrize(
    ("text", "wanted"), [(0.01, 0.01), ("0.01", 0.01), ("1/1000", 0.001), (" 3 / 4", 0.75)]
)
def test_base_rates_are_shares_or_fractions(text, wanted: float) -> None:
    assert read_rate(text) == wanted
    assert read_rate(None) is None


@pytest.mark.parametrize(
    "text", [0, 1, "2", "-0.1", "1/0", "often", "1/2/3", "", "nan", float("inf")]
)
def test_other_base_rates_are_refused(text) -> None:
    with pytest.raises(UsageError, match=r"--base-rate is the share .* between 0 and 1, such as"):
        read_rate(text)


def test_a_base_rate_is_given_or_implied_or_assumed() -> None:
    matches = Estimate(2.0, 1.8, 2.2, 50)
    assert base_rate_of(None, None, 500, 500).share == 0.001
    assert base_rate_of(None, None, 500, 500).origin == "assumed"
    implied = base_rate_of(None, matches, 500, 500)
    assert (implied.share, implied.among_random, implied.origin) == (0.004, 0.004, "implied")
    assert "2.00 labelled matches per query and 500 vectors" in implied.reason
    # In a larger store as many matches lie among more vectors; random pairs are of the source.
    larger = base_rate_of(None, matches, 500, 5_000)
    assert (larger.share, larger.among_random) == (0.0004, 0.004)
    own = base_rate_of(0.2, matches, 500, 500)
    assert (own.share, own.among_random, own.origin, own.reach) == (0.2, 0.004, "given", 0)
    assert (rate_words(0.001), rate_words(0.0025), rate_words(0.5)) == (
        "1 in 1,000", "1 in 400", "50 in 100",
    )  # fmt: skip


def test_matches_per_query_are_counted_once() -> None:
    queries = np.array([7, 7, 7, 8, 9])
    documents = np.array([1, 1, 2, 3, 4])
    found = labelled_matches(queries, documents, np.array([True, True, True, True, False]))
    assert found.value == 1.0  # two, one and none
    assert found.low is None
    many = labelled_matches(np.arange(40) // 2, np.arange(40), np.arange(40) % 4 < 3)
    assert many.value == 1.5
    assert many.low is not None
    assert many.low < 1.5 < (many.high or 0)


def test_precision_falls_with_the_share_of_yeses() -> None:
    # 100 yeses and 900 noes; 80 and 90 accepted.
    assert precision_at(0.1, 0.8, 0.1) == pytest.approx(80 / 170)
    assert precision_at(0.1, 0.0, 0.0) is None


def test_precision_with_noes_like_the_labelled_ones() -> None:
    # Accepted are 80 % of the yeses and 10 % of 200 noes.
    found = reweighted_precision(RECALL, mean_score(np.arange(200) < 20), KNOWN)
    assert found.value == pytest.approx(0.001 * 0.8 / (0.001 * 0.8 + 0.999 * 0.1))
    assert found.low is not None
    assert found.low < found.value < (found.high or 0)
    clean = reweighted_precision(RECALL, mean_score(np.zeros(30)), KNOWN)
    assert clean.value == 1
    # Of 30 noes none was accepted: as many as a tenth of all might be, and precision a hundredth.
    assert clean.low is not None
    assert clean.low < 0.02


def test_precision_in_a_search_takes_random_pairs_for_what_is_accepted() -> None:
    """The example of a store: 0.4 % of the pairs are accepted, 0.08 % are accepted matches."""
    found = search_precision(RECALL, Estimate(0.004, 0.003, 0.005, 100_000), KNOWN)
    assert found.value == pytest.approx(0.001 * 0.8 / 0.004)
    assert found.low is not None
    assert found.low < found.value < (found.high or 0)
    # Random pairs of a part of a store hold more matches than those of the store.
    part = BaseRate(0.001, "implied", "", among_random=0.002)
    found = search_precision(RECALL, Estimate(0.004, 0.003, 0.005, 100_000), part)
    noes = (0.004 - 0.002 * 0.8) / 0.998
    assert found.value == pytest.approx(precision_at(0.001, 0.8, noes))


def test_an_estimated_base_rate_widens_intervals() -> None:
    above = Estimate(0.004, 0.0039, 0.0041, 100_000)
    known = search_precision(RECALL, above, KNOWN)
    found = search_precision(RECALL, above, BaseRate(0.001, "implied", "", 0.001, reach=0.3))
    assert found.value == known.value
    assert (found.low or 1) < (known.low or 0)
    assert (found.high or 0) > (known.high or 1)


def test_a_precision_that_random_pairs_do_not_tell_is_undefined() -> None:
    few = search_precision(RECALL, Estimate(5e-5, None, None, 100_000), KNOWN)
    assert few.value is None
    assert few.note.startswith("undefined: fewer than 10 of 100,000 random pairs lie above")
    # One in a thousand is a match, 80 % of these are accepted, but only 0.02 % of all pairs.
    rare = search_precision(RECALL, Estimate(2e-4, 1.5e-4, 2.5e-4, 100_000), KNOWN)
    assert rare.value is None
    assert "fewer than the matches would be at a base rate of 1 in 1,000" in rare.note
    none = search_precision(mean_score(np.zeros(50)), Estimate(0.1, 0.09, 0.11, 100_000), KNOWN)
    assert none.note == "undefined: no yes is accepted"


SHARES = st.floats(1e-6, 1 - 1e-6)


@given(SHARES, SHARES, SHARES, SHARES, st.floats(0, 1))
def test_intervals_hold_their_value_and_stay_shares(
    recall: float, accepted: float, rate: float, among: float, reach: float
) -> None:
    top = Estimate(recall, 0.9 * recall, min(1.1 * recall, 1.0), 1_000)
    bottom = Estimate(accepted, 0.8 * accepted, min(1.2 * accepted, 1.0), 10**9)
    known = BaseRate(rate, "implied", "", among, reach)
    for found in (reweighted_precision(top, bottom, known), search_precision(top, bottom, known)):
        if found.value is None:
            assert found.note.startswith("undefined: ")
        else:
            assert found.low is not None
            assert found.high is not None
            assert 0 <= found.low <= found.value <= found.high <= 1

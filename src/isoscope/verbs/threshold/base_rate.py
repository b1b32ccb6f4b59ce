"""How common matches are where a threshold is used, and the precision that it has there.

Labelled pairs hold far more matches than a search. With r the base rate (the share of pairs that
are a match where the threshold is used), R the recall and f the share of noes that are accepted,
Bayes' rule gives the precision r R / (r R + (1 − r) f). What f is depends on which noes are meant:

*Reweighted.* f is that of the labelled noes. It is right where other noes score like them. Labelled
noes are often near misses that somebody bothered to label, and then f is far too high for a search.

*In a search over the store.* A share p of random pairs of the store lies above the threshold,
matches among them: p = r₀ R + (1 − r₀) f, with r₀ the base rate of the random pairs. So
f = (p − r₀ R) / (1 − r₀). Where r₀ is r, the precision is r R / p: no noes have to be labelled.

Both are rising functions of a ratio, R / f or R / p. Its interval is that of two independent
estimates on the scale of logarithms: each end is as far from the ratio as the root of the summed
squares of the distances of the ends that lie on that side (MOVER, Zou & Donner 2008). An implied
base rate is estimated from the queries, and widens the interval of the odds in the same way.

References
----------
Zou & Donner (2008), Construction of confidence limits about effect measures: a general approach,
Statistics in Medicine 27.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from isoscope.compute.stats.estimates import FEWEST, Estimate, quantile, standard_error
from isoscope.compute.stats.pair_cosines import FEWEST_PAIRS, expit
from isoscope.errors import UsageError
from isoscope.typing import Mask, Places

# The base rate where nobody gives one and nothing implies one.
ASSUMED = 0.001

Origin = Literal["given", "implied", "assumed"]


@dataclass(frozen=True)
class BaseRate:
    """The share of pairs that are a match where a threshold is used.

    Attributes
    ----------
    share : float
        Between 0 and 1.
    origin : {"given", "implied", "assumed"}
        Whether the user gave it, the labelled queries and the store imply it, or neither.
    reason : str
        Where it comes from, for people.
    among_random : float
        The share of the random pairs of the source that are a match.
    reach : float
        How far its interval reaches to either side on the scale of logarithms; 0 where it is not
        estimated.
    """

    share: float
    origin: Origin
    reason: str
    among_random: float
    reach: float = 0.0

    def __str__(self) -> str:
        return rate_words(self.share)


@dataclass(frozen=True)
class RarePrecision:
    """The precision of a threshold at a base rate, by two assumptions about noes.

    Attributes
    ----------
    reweighted : Estimate
        Where noes score like the labelled ones.
    in_search : Estimate
        Where pairs are as often above the threshold as random pairs of the store.
    above : Estimate or None
        The share of random pairs above the threshold.
    """

    reweighted: Estimate
    in_search: Estimate
    above: Estimate | None = None


def rate_words(share: float) -> str:
    """Return a base rate as people say it.

    Examples
    --------
    >>> rate_words(0.001), rate_words(0.3)
    ('1 in 1,000', '30 in 100')
    """
    return f"1 in {1 / share:,.0f}" if share <= 0.1 else f"{100 * share:.3g} in 100"


def read_rate(given: float | str | None) -> float | None:
    """Read a base rate: a share such as 0.001, or a fraction such as ``1/1000``.

    Examples
    --------
    >>> read_rate("1/1000")
    0.001
    """
    if given is None:
        return None
    try:
        top, _, bottom = str(given).partition("/")
        share = float(top) / (float(bottom) if bottom else 1.0)
    except (ValueError, ZeroDivisionError):
        share = math.nan
    if not 0 < share < 1:  # NaN is refused as well
        raise UsageError(
            "--base-rate is the share of pairs that are a match, between 0 and 1, such as 0.001 or "
            f"1/1000, not {given!r}"
        )
    return share


def base_rate_of(given: float | None, matches: Estimate | None, rows: int, store: int) -> BaseRate:
    """Take the base rate that the user gives, else the one that is implied, else assume one.

    Parameters
    ----------
    given : float or None
        By the user.
    matches : Estimate or None
        Labelled matches per query, where pairs are of queries and documents.
    rows, store : int
        How many vectors the source has, and how many a query is compared with.
    """
    if matches is None or matches.value is None:
        if given is not None:
            return BaseRate(given, "given", "as given", given)
        return BaseRate(
            ASSUMED, "assumed", "an assumption, as nothing here implies a rate", ASSUMED
        )
    # Labels name rows of the source, so that its random pairs hold all labelled matches, while a
    # larger store has as many matches per query among more vectors.
    here = matches.value / rows
    if given is not None:
        return BaseRate(given, "given", "as given", here)
    reason = (
        f"implied by {matches.value:.2f} labelled matches per query and {store:,} vectors; "
        "matches that are not labelled would raise it"
    )
    reach = 0.0 if matches.high is None else math.log(matches.high / matches.value)
    return BaseRate(matches.value / store, "implied", reason, here, reach)


def labelled_matches(
    queries: Places, documents: Places, labels: Mask, level: float = 0.95
) -> Estimate:
    """Return how many distinct documents are labelled a match, per labelled query.

    The interval is that of a mean over queries, symmetric on the scale of logarithms.
    """
    _, query = np.unique(queries, return_inverse=True)
    matches = np.unique(np.stack([query[labels], documents[labels]], axis=1), axis=0)
    counts = np.bincount(matches[:, 0], minlength=int(query.max()) + 1).astype(np.float64)
    n, mean = len(counts), float(counts.mean())
    if n < FEWEST:
        return Estimate(mean, None, None, n, f"no interval from fewer than {FEWEST} queries")
    reach = quantile(level, n) * standard_error(counts) / mean
    return Estimate(mean, mean * math.exp(-reach), mean * math.exp(reach), n)


def precision_at(share: float, recall: float, false_share: float) -> float | None:
    """Return the precision among pairs of which some share are yeses: Bayes' rule."""
    accepted = share * recall + (1 - share) * false_share
    return share * recall / accepted if accepted > 0 else None


def reweighted_precision(recall: Estimate, false_share: Estimate, rate: BaseRate) -> Estimate:
    """Return the precision at a base rate, where non-matches score like the labelled ones."""
    share = rate.share
    if not recall.value or false_share.value is None:
        return undefined_precision(recall, false_share)
    if false_share.value == 0:  # a ratio without an upper end: the lower ones decide
        low = None
        if false_share.high is not None and recall.low is not None:
            low = precision_at(share * math.exp(-rate.reach), recall.low, false_share.high)
        return Estimate(1.0, low, None if low is None else 1.0, false_share.n)
    found = through(recall, false_share, lambda ratio: share * ratio / (share * ratio + 1 - share))
    return widened_by(rate, found)


def search_precision(recall: Estimate, above: Estimate, rate: BaseRate) -> Estimate:
    """Return the precision at a base rate, with as many pairs accepted as random ones are.

    Parameters
    ----------
    recall : Estimate
        Share of matches above the threshold.
    above : Estimate
        Share of random pairs above the threshold.
    rate : BaseRate
        How common matches are in the search, and among the random pairs.
    """
    if not recall.value or above.value is None:
        return undefined_precision(recall, above)
    if above.value * above.n < FEWEST_PAIRS:
        why = (
            f"fewer than {FEWEST_PAIRS} of {above.n:,} random pairs lie above the threshold; a "
            "larger sample is needed"
        )
        return Estimate(None, None, None, above.n, f"undefined: {why}")

    def precision(ratio: float) -> float:
        noes = (1 - rate.share) * (1 - rate.among_random * ratio)
        yeses = rate.share * (1 - rate.among_random) * ratio
        return yeses / (yeses + noes) if noes > 0 else 1.0

    found = through(recall, above, precision)
    least = recall.value / above.value if found.low is None else log_ratio(recall, above)[0]
    if rate.among_random * least > 1:
        why = (
            f"{above.value:.2g} of random pairs lie above the threshold, fewer than the matches "
            f"would be at a base rate of {rate_words(rate.among_random)}; this store has at most "
            f"{rate_words(1 / least)}"
        )
        return Estimate(None, None, None, above.n, f"undefined: {why}")
    return widened_by(rate, found)


def widened_by(rate: BaseRate, found: Estimate) -> Estimate:
    """Widen the interval of a precision by the error of the base rate, on the scale of log odds."""
    if not rate.reach or found.value is None or found.low is None or found.high is None:
        return found
    low, middle, high = (odds_of(share) for share in (found.low, found.value, found.high))
    return replace(
        found,
        low=min(expit(middle - math.hypot(middle - low, rate.reach)), found.value),
        high=max(expit(middle + math.hypot(high - middle, rate.reach)), found.value),
    )


def odds_of(share: float) -> float:
    """Return log odds; of 0 and 1 those of shares so close that nobody would tell."""
    inside = min(max(share, TINY), 1 - TINY)
    return math.log(inside / (1 - inside))


def undefined_precision(recall: Estimate, accepted: Estimate) -> Estimate:
    """Return a precision that is undefined because nothing is accepted or known."""
    why = "no yes is accepted" if recall.value == 0 else "there is no threshold to judge"
    return Estimate(None, None, None, accepted.n, f"undefined: {why}")


def through(top: Estimate, bottom: Estimate, function: Callable[[float], float]) -> Estimate:
    """Return a rising function of a ratio, with the interval of the ratio turned into its own."""
    assert top.value is not None
    assert bottom.value is not None
    value = function(top.value / bottom.value)
    if None in (top.low, top.high, bottom.low, bottom.high):
        note = bottom.note or top.note
        return Estimate(value, None, None, bottom.n, note)
    low, high = log_ratio(top, bottom)
    return Estimate(value, function(low), function(high), bottom.n)


def log_ratio(top: Estimate, bottom: Estimate) -> tuple[float, float]:
    """Return the interval of the ratio of two independent estimates, both with intervals."""

    def distances(of: Estimate) -> tuple[float, float]:
        """How far the ends lie below and above the value, on the scale of logarithms."""
        assert of.value is not None
        assert of.low is not None
        assert of.high is not None
        return math.log(of.value / max(of.low, TINY)), math.log(of.high / of.value)

    assert top.value is not None
    assert bottom.value is not None
    (top_down, top_up), (bottom_down, bottom_up) = distances(top), distances(bottom)
    ratio = top.value / bottom.value
    low = ratio * math.exp(-math.hypot(top_down, bottom_up))
    return low, ratio * math.exp(math.hypot(top_up, bottom_down))


# Stands for an end of an interval at 0, which has no logarithm.
TINY = 1e-12

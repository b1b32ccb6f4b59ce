"""How often unrelated pairs reach a score.

One threshold in the forms in which stores want it.

For unit vectors u and v with cosine s: the inner product is s, the cosine distance 1 − s, the
Euclidean distance ‖u − v‖ = √(2 − 2s), and its square 2 − 2s. Search engines that allow no negative
score report (1 + s) / 2.

What a score means without labels: how often random pairs reach it, how many a query meets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import Estimate
from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.errors import DataError
from isoscope.results.result import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.corrections.query_centre import TwoSided


FORMS = ("cosine_distance", "euclidean_of_unit", "halved_score")
"""Names of the other forms of a cosine, as fields of a row."""


def forms_of(cosine: float | None) -> dict[str, float | None]:
    """Return what stores call a cosine: distances fall where it rises.

    Examples
    --------
    >>> {name: round(value, 3) for name, value in forms_of(0.82).items()}
    {'cosine_distance': 0.18, 'euclidean_of_unit': 0.6, 'halved_score': 0.91}
    """
    if cosine is None:
        return dict.fromkeys(FORMS)
    distance = 1 - cosine
    return dict(
        zip(FORMS, (distance, math.sqrt(max(2 * distance, 0.0)), (1 + cosine) / 2), strict=True)
    )


BACKGROUND = "random-pairs"
"""Stands before the measures of this file."""

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
MATCHES = (10.0, 1.0, 0.1)
"""Chance matches per query for which a threshold is given."""

SHARE_ABOVE, PER_QUERY, SCORE = "share_above", "matches_per_query", "score"
UNEVEN = 1e-3
"""Lengths that differ by more than this share are not those of unit vectors."""


@dataclass(frozen=True)
class Meaning:
    """The random pairs of one space.

    Attributes
    ----------
    space : str
        Name of its correction.
    pairs : RandomPairs
        Their cosines.
    others : int
        How many vectors a query is compared with.
    """

    space: str
    pairs: RandomPairs
    others: int

    def rows(self, subject: str, protocol: str, at: Sequence[float], level: float) -> list[Row]:
        """File percentiles, thresholds for few matches, and what the user's own scores mean.

        Parameters
        ----------
        subject : str
            What results call the vectors.
        protocol : str
            What was compared.
        at : sequence of float
            Scores whose percentile is wanted.
        level : float
            Coverage of the intervals.
        """

        def filed(measure: str, found: Estimate, extra: dict[str, Any]) -> Row:
            return Row.of(
                found, subject, "", self.space, f"{BACKGROUND}/{measure}",
                n=self.pairs.count, protocol=protocol, extra={"unit": "pairs", **extra},
            )  # fmt: skip

        rows = []
        for percentile in PERCENTILES:
            share = 1 - percentile / 100
            found = self.pairs.score_at(share, level)
            rows.append(filed(f"{percentile:g}%", found, self._about(share, found.value)))
        for matches in MATCHES:
            share = matches / self.others
            if share < 0.5:
                found = self.pairs.score_at(share, level)
                about = self._about(share, found.value)
                rows.append(filed(f"{matches:g}-per-query", found, about))
        rows += [filed(f"at-{score:g}", *self._percentile_of(score, level)) for score in at]
        return rows

    def _about(self, share: float, score: float | None) -> dict[str, Any]:
        return {SHARE_ABOVE: share, PER_QUERY: share * self.others, **forms_of(score)}

    def _percentile_of(self, score: float, level: float) -> tuple[Estimate, dict[str, Any]]:
        """Return the percentile of a score, and how many others a query meets above it."""
        found = self.pairs.share_above(score, level)
        assert found.value is not None
        ends = [None if end is None else 100 * (1 - end) for end in (found.high, found.low)]
        value = Estimate(100 * (1 - found.value), ends[0], ends[1], found.n, found.note)
        return value, {SCORE: score, **self._about(found.value, score)}


def meaning_of(
    space: TwoSided,
    documents: NDArray[Any],
    queries: NDArray[Any] | None,
    others: int,
) -> Meaning:
    """Compare sampled documents with each other, or sampled queries with them."""
    asked = None if queries is None else space.of_queries(queries)
    try:
        pairs = RandomPairs.of(space.of_documents(documents), asked)
    except DataError as error:
        raise DataError(f"{space.name}: {error}; leave it out of --corrections") from error
    return Meaning(space.name, pairs, others)


def length_remark(rows: NDArray[Any]) -> str | None:
    """Warn where forms for unit vectors would not be what a store computes."""
    lengths = np.linalg.norm(np.asarray(rows, np.float64), axis=1)
    if np.ptp(lengths) <= UNEVEN * float(lengths.max()):
        return None
    return (
        "The vectors are not of one length: inner products and Euclidean distances of a store are "
        "not those of the table unless vectors are set to length 1 first. Cosines are."
    )

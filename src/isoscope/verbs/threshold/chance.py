"""How often unrelated pairs reach a score, and one score in the forms in which stores want it.

For unit vectors u and v with cosine s: the inner product is s, the cosine distance 1 − s, the
Euclidean distance ‖u − v‖ = √(2 − 2s), and its square 2 − 2s. Search engines that allow no negative
score report (1 + s) / 2.

Without labels, a score means how often random pairs reach it: of the n vectors that a query is
compared with, a share p of random pairs above a score makes n p matches by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.estimates import Estimate
from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.corrections.query_centre import TwoSided
from isoscope.errors import DataError
from isoscope.measures.families.cosine import density_rows
from isoscope.results.fields import UNCORRECTED
from isoscope.results.result import Row, Table
from isoscope.verbs.threshold.names import PER_QUERY, RANDOM, SCORE, SHARE_ABOVE

# Names of the other forms of a cosine, as fields of a row.
FORMS = ("cosine_distance", "euclidean_of_unit", "halved_score")

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)

# Chance matches per query for which a threshold is given.
MATCHES = (10.0, 1.0, 0.1)

# Norms that differ by more than this share are not those of unit vectors.
UNEVEN = 1e-3


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
    # Rounding may put the cosine of equal vectors above 1, and the square below 0.
    values = (distance, math.sqrt(max(2 * distance, 0.0)), (1 + cosine) / 2)
    return dict(zip(FORMS, values, strict=True))


@dataclass(frozen=True)
class Meaning:
    """The random pairs of one space, and the number of others that a query is compared with."""

    space: str
    pairs: RandomPairs
    others: int

    def rows(self, subject: str, protocol: str, at: Sequence[float], level: float) -> list[Row]:
        """Return percentiles, thresholds for few matches, and the percentiles of scores as rows.

        The rows have a subject and a protocol; ``level`` is the coverage of their intervals.
        """
        shares = {f"{percentile:g}%": 1 - percentile / 100 for percentile in PERCENTILES}
        # In a small store, more than half of all pairs would have to match.
        shares |= {f"{n:g}-per-query": n / self.others for n in MATCHES if n / self.others < 0.5}
        cases: list[tuple[str, Estimate, dict[str, Any]]] = []
        for name, share in shares.items():
            found = self.pairs.score_at(share, level)
            cases.append((name, found, self._about(share, found.value)))
        cases += [(f"at-{score:g}", *self._percentile_of(score, level)) for score in at]
        return [
            Row.of(
                found, subject, "", self.space, RANDOM + name,
                n=self.pairs.count, protocol=protocol, extra={"unit": "pairs", **about},
            )
            for name, found, about in cases
        ]  # fmt: skip

    def density(self, subject: str) -> Table:
        """Return how the cosines of the pairs are distributed."""
        return Table(subject, "", self.space, "cosine_density", density_rows(self.pairs.ordered))

    def _about(self, share: float, score: float | None) -> dict[str, Any]:
        return {SHARE_ABOVE: share, PER_QUERY: share * self.others, **forms_of(score)}

    def _percentile_of(self, score: float, level: float) -> tuple[Estimate, dict[str, Any]]:
        """Return the percentile of a score, and how many others a query returns above it."""
        found = self.pairs.share_above(score, level)
        assert found.value is not None
        ends = [None if end is None else 100 * (1 - end) for end in (found.high, found.low)]
        value = Estimate(100 * (1 - found.value), ends[0], ends[1], found.n, found.note)
        return value, {SCORE: score, **self._about(found.value, score)}


def meaning_of(
    space: TwoSided, documents: NDArray[Any], queries: NDArray[Any] | None, others: int
) -> Meaning:
    """Compare sampled documents with each other, or sampled queries with them."""
    asked = None if queries is None else space.of_queries(queries)
    try:
        pairs = RandomPairs.of(space.of_documents(documents), asked)
    except DataError as error:
        if space.name == UNCORRECTED:
            said = "fewer than two vectors differ from zero: no pair has a cosine"
            raise DataError(said) from error
        raise DataError(f"{space.name}: {error}; leave it out of --corrections") from error
    return Meaning(space.name, pairs, others)


def norm_remarks(rows: NDArray[Any]) -> list[str]:
    """Warn where forms for unit vectors would not be what a store computes."""
    norms = np.linalg.norm(np.asarray(rows, np.float64), axis=1)
    if np.ptp(norms) <= UNEVEN * float(norms.max()):
        return []
    return [
        "The vectors have different norms: the cosines of a store are those of the table, but its "
        "inner products and Euclidean distances are not unless vectors are brought to norm 1 first."
    ]

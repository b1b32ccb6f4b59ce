"""Queries and documents as two clouds: how far apart they lie, and what centring does about it.

Mean and quantiles of cos(q, d), cos(q, q') and cos(d, d') over random pairs, and the distance of
the two means over the spread of the documents, δ = ‖μ_q − μ_d‖ / √(E‖d − μ_d‖²).

Means of samples lie apart where the true ones do not: 20 queries that are drawn from the documents
have a mean that is 0.22 of the spread away. With V the covariance of the difference Δ of two means
of m queries and n documents, V = Σ_q / m + Σ_d / n, the square of its length is too large by tr V,
which is taken off; its variance is 4 ΔᵀVΔ + 2 tr V².
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import Estimate, quantile
from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.corrections.query_centre import OWN, Centres, TwoSided, sampled_rows, two_sided_spaces
from isoscope.corrections.registry import parse_corrections
from isoscope.data.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.measures.views import DEFAULT_CORRECTIONS, check_width
from isoscope.progress import Progress, report
from isoscope.results.numbers import with_interval
from isoscope.results.result import Result, Row, versions
from isoscope.tasks.encoding import open_source, with_caveats
from isoscope.verbs.measure.names import ALIKE, APART, BETWEEN, DOCUMENTS, PART
from isoscope.wording import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.typing import Matrix


SAMPLE = 5_000
QUANTILES = (5, 50, 95, 99)

# A mean cosine that another centre changes by less changes few lists.
NOTICEABLE = 0.1

# Centres that lie closer than this, over the spread of the documents, move few scores. Sentences
# say on which side of it a distance is where its interval does.
NEAR = 0.2
MOST_DIGITS = 6

# With fewer rows of either, their covariance says little of the error of their mean.
FEWEST = 10


def measure_queries(
    documents: Any,
    queries: Any,
    corrections: Iterable[str] | str | None = None,
    *,
    centres: Centres = "both",
    column: str | None = None,
    drop_invalid: bool = False,
    sample: int = SAMPLE,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Measure how two clouds that are compared with each other lie to each other.

    Parameters
    ----------
    documents, queries : str, Path, array, tensor or CloudGroup
        Two clouds of one width. Corrections are fitted on the documents.
    corrections : iterable of str, optional
        Spaces; by default those of ``measure``.
    centres : {"both", "shared", "own"}
        Whether queries are centred on the documents' mean, on their own, or both.
    column : str, optional
        Which array of files that hold several.
    drop_invalid : bool
        Exclude rows with NaN or infinity.
    sample : int
        Rows of each cloud that are compared.
    level : float
        Coverage of the intervals.
    seed : int
        Of the samples.
    progress : callable, optional
        Called with the name of the work, steps done, and steps in all.
    command : str
        Kept in the result.

    Returns
    -------
    Result
        For every space: ``query_document_cosine`` (mean and quantiles), ``query_query_cosine``,
        ``document_document_cosine``, and ``centre_distance``, the distance of the two means
        over the spread of the documents, ‖μ_q − μ_d‖ / √(E‖d − μ_d‖²), less what sampling adds.
    """
    if sample < 2:
        raise UsageError(f"a sample must have at least two rows, got {sample}")
    asked = parse_corrections(listed(corrections, DEFAULT_CORRECTIONS))
    held, asking = (open_source(one, column=column) for one in (documents, queries))
    for one in asked:
        check_width(one, held.widths[0])
    spaces = two_sided_spaces(
        [one.text for one in asked],
        RowSelection(held, drop_invalid=drop_invalid),
        RowSelection(asking, drop_invalid=drop_invalid),
        centres,
        progress,
    )
    rows, others = (
        sampled_rows(one, sample, seed, drop_invalid=drop_invalid) for one in (held, asking)
    )
    how = (
        f"{len(others):,} rows of {asking.names[0]} as queries, {len(rows):,} as documents, seed "
        f"{seed}; corrections fitted on all documents"
    )
    how = with_caveats(how, held, asking)
    found: list[Row] = []
    for number, space in enumerate(spaces, start=1):
        found += space_rows(space, rows, others, held.names[0], how, level)
        report(progress, "compare queries and documents", number, len(spaces))
    said = " ".join(sentences(found))
    where = {"subject": held.names[0], "part": PART}
    return Result(
        found,
        verdicts=[{**where, "sentence": said}] if said else [],
        seeds={"seed": seed},
        versions=versions(),
        command=command,
    )


def space_rows(
    space: TwoSided,
    documents: NDArray[Any],
    queries: NDArray[Any],
    subject: str,
    protocol: str,
    level: float,
) -> list[Row]:
    """Measure one space."""
    held, asked = space.of_documents(documents), space.of_queries(queries)
    between = RandomPairs.of(held, asked)
    found: dict[str, Estimate] = {
        BETWEEN: between.mean_cosine(level),
        ALIKE: RandomPairs.of(asked).mean_cosine(level),
        DOCUMENTS: RandomPairs.of(held).mean_cosine(level),
        **{f"{BETWEEN}/{share}%": between.score_at(1 - share / 100, level) for share in QUANTILES},
        APART: centre_distance(held, asked, level),
    }
    return [
        Row.of(one, subject, PART, space.name, name, n=len(asked) if name == APART else None,
               protocol=protocol, extra={"unit": "pairs"})
        for name, one in found.items()
    ]  # fmt: skip


def centre_distance(
    documents: NDArray[Any], queries: NDArray[Any], level: float = 0.95
) -> Estimate:
    """Return ‖μ_q − μ_d‖ / √(E‖d − μ_d‖²), less what sampling adds; see the top of this file.

    Parameters
    ----------
    documents, queries : array of shape (rows, width)
        Sampled rows of both.
    level : float
        Coverage of the interval.
    """
    rows, fewest = len(queries), min(len(documents), len(queries))
    (of_d, spread), (of_q, own) = (covariance(one) for one in (documents, queries))
    if spread == 0:
        return Estimate(None, None, None, rows, "undefined: all documents are one point")
    apart = np.mean(queries, axis=0, dtype=np.float64) - np.mean(
        documents, axis=0, dtype=np.float64
    )
    noise: Matrix = of_d / len(documents) + of_q / rows
    square = float(np.sum(apart**2)) - spread / len(documents) - own / rows
    value = math.sqrt(max(square, 0.0) / spread)
    if fewest < FEWEST:
        return Estimate(value, None, None, rows, f"no interval from fewer than {FEWEST} rows")
    along = float(np.sum(apart * (noise @ apart)))
    error = math.sqrt(4 * along + 2 * float(np.sum(noise**2)))
    reach = quantile(level, fewest) * error
    low, high = (math.sqrt(max(square + end, 0.0) / spread) for end in (-reach, reach))
    return Estimate(value, low, high, rows)


def covariance(rows: NDArray[Any]) -> tuple[Matrix, float]:
    """Return the covariance of some rows, and its trace."""
    moved = np.asarray(rows, np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    found = moved.T @ moved / max(len(rows) - 1, 1)
    return found, float(np.trace(found))


def sentences(rows: Sequence[Row]) -> list[str]:
    """Say whether queries have a centre of their own, and what that does to scores."""
    by_name = {(row.correction, row.measure): row for row in rows}
    apart = by_name.get((rows[0].correction, APART))
    if apart is None or apart.value is None:
        return []
    found = f"by {with_interval(apart, distance)} of the documents' spread"
    if apart.low is None or apart.high is None or apart.low < NEAR <= apart.high:
        return [
            f"No statement on a centre of the queries: it differs from that of the documents "
            f"{found}, and {apart.n or 0:,} queries are too few to tell whether that is more "
            f"than {NEAR:g} of it."
        ]
    if apart.high < NEAR:
        return [
            f"Queries and documents share a centre: their means differ {found}, less than "
            f"{NEAR:g} of it."
        ]
    lines = [f"Queries have a centre of their own: the means differ {found}."]
    own = next((name for name, _ in by_name if name.endswith(OWN)), None)
    shared = None if own is None else own.removesuffix(OWN)
    one, two = (by_name.get((str(name), ALIKE)) for name in (shared, own))
    if one is None or two is None or one.value is None or two.value is None:
        return lines
    if one.low is not None and one.low - two.value >= NOTICEABLE:
        lines.append(
            f"With one centre for both, {shared} leaves queries a mean cosine of {one.value:.3f} "
            "with each other: all point in one direction, where the same documents lie. With two "
            f"centres it is {round(two.value, 3) + 0.0:.3f}."
        )
    return lines


def distance(value: float) -> str:
    """Write a distance, with digits enough to be on its own side of the limit."""
    digits = 2
    while digits < MOST_DIGITS and (round(value, digits) >= NEAR) != (value >= NEAR):
        digits += 1
    return f"{value:.{digits}f}"

"""Figures with their values without each block of the data, so that a claim knows their error.

A recipe computes its figures once on all the data and once without each block; what has no formula
for its error, such as I1 or what a correction does to the rows it was fitted on, gets one this way
(`isoscope.compute.stats.jackknife`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from isoscope.compute.stats.jackknife import BLOCKS, deal, jackknife_error
from isoscope.results.fields import DIFFERENCE
from isoscope.results.result import Row
from isoscope.verbs.study.claims import row_key
from isoscope.verbs.study.evidence import BLOCKS as BLOCKS_FIELD
from isoscope.verbs.study.evidence import REPLICATES, is_known

# Documents that each block needs: with fewer, one document is most of a block.
FEWEST_IN_BLOCK = 2


def replicated(
    find: Callable[[NDArray[np.bool_]], Sequence[Row]],
    items: int | NDArray[np.intp],
    seed: int,
    of: str,
) -> list[Row]:
    """Compute figures on all rows, and without each block of them.

    Parameters
    ----------
    find : callable
        Gets a mask of the rows that count, and returns figures.
    items : int or array
        How many rows there are, where they are independent; or the document of every row, so that
        the rows of a document are in one block.
    seed : int
        Of how documents or rows are dealt.
    of : str
        What the blocks are of, such as ``rows of the matrix``. Figures with the same ``of``, seed
        and number of items have the same blocks, and are compared pair by pair.
    """
    if isinstance(items, int):
        blocks = deal(items, seed)
        documents = items
    else:
        numbers, places = np.unique(items, return_inverse=True)
        documents = len(numbers)
        blocks = deal(documents, seed)[places]
    whole = list(find(np.ones(len(blocks), dtype=np.bool_)))
    if documents < FEWEST_IN_BLOCK * BLOCKS:
        return whole
    without = [list(find(blocks != block)) for block in range(BLOCKS)]
    return with_replicates(whole, without, f"{BLOCKS} blocks of {documents:,} {of}, seed {seed}")


def with_replicates(
    whole: Iterable[Row], without: Sequence[Iterable[Row]], blocks: str
) -> list[Row]:
    """Give figures their values without each block; those of tiny numbers as logarithms."""
    others = [{row_key(row): row for row in rows} for rows in without]
    return [with_error(row, [one.get(row_key(row)) for one in others], blocks) for row in whole]


def with_error(row: Row, without: Sequence[Row | None], blocks: str) -> Row:
    """Give one figure its replicates and, where it has none, an interval."""
    on_log = is_known(row.log10)
    found = [None if one is None else (one.log10 if on_log else one.value) for one in without]
    values = [value for value in found if is_known(value)]
    if not is_known(row.value) or len(values) < len(found) or len(values) < 2:
        return row
    extra = {k: v for k, v in row.extra.items() if k != "no_interval"}
    extra |= {REPLICATES: values, BLOCKS_FIELD: blocks}
    if row.low is not None:
        return replace(row, extra=extra)
    reach = jackknife_error(values) * float(stats.t.ppf(0.975, len(values) - 1))
    if on_log:
        assert row.log10 is not None
        ends = [10.0 ** min(row.log10 + side * reach, 300.0) for side in (-1, 1)]
    else:
        ends = [row.value - reach, row.value + reach]
    ends = [end if math.isfinite(end) else row.value for end in ends]
    return replace(row, low=ends[0], high=ends[1], extra=extra)


def difference_replicates(rows: Sequence[Row]) -> list[Row]:
    """Give differences from figures as they are the differences of their replicates.

    A row of a difference is the one whose measure ends on ``/difference``; its two sides are the
    figures of the same name, with its correction and without any.
    """
    known = {row_key(row): row for row in rows}
    found = []
    for row in rows:
        base = replace(row, measure=row.measure.removesuffix(DIFFERENCE))
        after, before = (
            known.get(row_key(replace(base, correction=name))) for name in (row.correction, "none")
        )
        if not row.measure.endswith(DIFFERENCE) or after is None or before is None:
            found.append(row)
            continue
        values = differences_of(after, before)
        found.append(replace(row, extra={**row.extra, **values}))
    return found


def differences_of(after: Row, before: Row) -> dict[str, Any]:
    """Return the differences of replicates as fields of a row; none where blocks are not alike."""
    of = after.extra.get(BLOCKS_FIELD)
    if of is None or of != before.extra.get(BLOCKS_FIELD):
        return {}
    apart = np.subtract(after.extra[REPLICATES], before.extra[REPLICATES])
    return {REPLICATES: apart.tolist(), BLOCKS_FIELD: of}


def mean_replicates(rows: Sequence[Row], blocks: str | None = None) -> dict[str, Any]:
    """Return the replicates of a mean of figures as fields of a row.

    Without ``blocks`` all figures must be of the same blocks, such as those of several seeds. With
    it they are of as many blocks of their own, such as scores of independent sets: block k of the
    mean is then block k of every set.
    """
    if any(REPLICATES not in row.extra for row in rows) or not rows:
        return {}
    if len({len(row.extra[REPLICATES]) for row in rows}) > 1:
        return {}
    if blocks is None and len({row.extra[BLOCKS_FIELD] for row in rows}) > 1:
        return {}
    mean = np.mean([row.extra[REPLICATES] for row in rows], axis=0)
    return {REPLICATES: mean.tolist(), BLOCKS_FIELD: blocks or rows[0].extra[BLOCKS_FIELD]}

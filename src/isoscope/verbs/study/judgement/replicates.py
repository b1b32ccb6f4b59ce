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

from isoscope.compute.stats.jackknife import BLOCKS, FEWEST_IN_BLOCK, deal, jackknife_error
from isoscope.results.fields import BLOCKS as BLOCKS_FIELD
from isoscope.results.fields import DIFFERENCE, REPLICATES
from isoscope.results.result import Row
from isoscope.verbs.study.judgement.evidence import (
    EXACT,
    LOGARITHMS,
    PLAIN,
    SEED_VALUES,
    added,
    error_of_seeds,
    is_known,
    quantile,
)
from isoscope.verbs.study.judgement.rows import row_key


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
    scale = LOGARITHMS if on_log else PLAIN
    own = jackknife_error(values), len(values) - 1.0
    error, freedom = added([own, error_of_seeds(replace(row, extra=extra), scale)])
    reach = error * quantile(freedom)
    if on_log:
        assert row.log10 is not None
        ends = [10.0 ** min(row.log10 + side * reach, 300.0) for side in (-1, 1)]
    else:
        ends = [row.value - reach, row.value + reach]
    ends = [end if math.isfinite(end) else row.value for end in ends]
    return replace(row, low=ends[0], high=ends[1], extra=extra)


def with_blocks_alone(
    whole: Iterable[Row], alone: Sequence[Iterable[Row]], blocks: str
) -> list[Row]:
    """Give figures the error that their values in each block alone show.

    Where leaving out each block would take ten more reads of nearly all texts, the blocks are read
    once each. With θₖ the value in block k of g, the figure θ without block k is taken to be
    θ − (θₖ − mean of θₖ) / (g − 1), as it is for a mean: the error of θ is then the deviation of
    the θₖ over √g (the method of batch means). Figures of the same blocks are still compared pair
    by pair.

    Parameters
    ----------
    whole : iterable of Row
        Figures of all the data.
    alone : sequence of iterable of Row
        The same figures of each block by itself.
    blocks : str
        What the blocks are, as `with_replicates` takes it.
    """
    others = [{row_key(row): row.value for row in rows} for rows in alone]
    found = []
    for row in whole:
        values = [one.get(row_key(row)) for one in others]
        known = [value for value in values if is_known(value)]
        if not is_known(row.value) or len(known) < len(values) or len(known) < 2:
            found.append(row)
            continue
        mean = float(np.mean(known))
        left = [row.value - (value - mean) / (len(known) - 1) for value in known]
        plain = replace(row, log10=None)
        one = with_error(plain, [replace(plain, value=value) for value in left], blocks)
        # Replicates of a figure with a logarithm are logarithms.
        found.append(row if is_known(row.log10) else one)
    return found


def combined(rows: Sequence[Row], row: Row, value: Callable[[Sequence[float]], float]) -> Row:
    """Make a figure out of others, such as a difference or the change of a curve.

    It is exact where the others are, and has replicates where these have some of the same blocks.

    Parameters
    ----------
    rows : sequence of Row
        What it is made of; all have values.
    row : Row
        What it is called; without a value.
    value : callable
        Gets the values of the others.
    """
    values = [0.0 if one.value is None else one.value for one in rows]
    made = replace(row, value=value(values), log10=None, low=None, high=None)
    if all(one.extra.get(EXACT) for one in rows):
        return replace(made, extra={**row.extra, EXACT: True})
    blocks = {one.extra.get(BLOCKS_FIELD) for one in rows}
    if len(blocks) != 1 or not all(REPLICATES in one.extra for one in rows):
        return made
    several = [
        [10.0**left for left in one.extra[REPLICATES]]
        if is_known(one.log10)
        else one.extra[REPLICATES]
        for one in rows
    ]
    left = [value([one[k] for one in several]) for k in range(len(several[0]))]
    return with_error(made, [replace(made, value=one) for one in left], str(blocks.pop()))


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
    if of is None or of != before.extra.get(BLOCKS_FIELD) or is_known(after.log10):
        return {}
    apart = np.subtract(after.extra[REPLICATES], before.extra[REPLICATES])
    found: dict[str, Any] = {REPLICATES: apart.tolist(), BLOCKS_FIELD: of}
    if SEED_VALUES in after.extra and SEED_VALUES not in before.extra and is_known(before.value):
        # What it is compared with is the same for every seed.
        found[SEED_VALUES] = [value - before.value for value in after.extra[SEED_VALUES]]
    return found


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


def mean_over_seeds(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the mean of figures for every seed as a field of a row, where all have the seeds."""
    counts = {len(row.extra.get(SEED_VALUES, ())) for row in rows}
    if len(counts) != 1 or not max(counts):
        return {}
    mean = np.mean([row.extra[SEED_VALUES] for row in rows], axis=0)
    return {SEED_VALUES: mean.tolist()}

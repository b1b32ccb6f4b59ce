"""Tokens that were never used, and which tokens they lie close to.

An unused token u is never a target: training only pushes it away from what a model predicts, so
that it drifts where all tokens drift; the rarer a token is, the less it is pulled back. Every row x
of the vocabulary has a mean cosine with the unused tokens U, (1 / |U|) Σ_u unit(x)·unit(u), which
is an inner product with the mean of their unit vectors.

A token that a text lacks may well have been trained. Unused tokens are known by their names only.

References
----------
Biś et al. (2021), Too much in common, figure 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.compute.stats.estimates import spearman
from isoscope.errors import UsageError
from isoscope.models.weights.embeddings import UNUSED
from isoscope.results.result import Row
from isoscope.verbs.explain import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.data.base import Cloud
    from isoscope.models.frequencies import Frequencies
    from isoscope.typing import Vector

    Rows = NDArray[np.int64]


BIN = 1_000
# How many there are, beside the correlation.
UNUSED_TOKENS = "unused_tokens"

Range = tuple[int, int]


class VocabularySummary(NamedTuple):
    """What one read of a vocabulary tells: mean and number of rows, and those named as unused."""

    mean: Vector
    rows: int
    named: Rows


class Bins(NamedTuple):
    """Ids to look at: all in bins of a thousand, and the two that are compared."""

    every: tuple[Range, ...]
    frequent: Range | None
    rare: Range | None

    def ranges(self) -> list[Range]:
        """Return each of them once."""
        compared = [ids for ids in (self.frequent, self.rare) if ids is not None]
        return list(dict.fromkeys([*self.every, *compared]))


def summarise(cloud: Cloud) -> VocabularySummary:
    """Read a vocabulary whose rows are labelled ``word``; without labels none is named."""
    total = np.zeros(cloud.width)
    named: list[int] = []
    count = 0
    for batch in cloud.read():
        total += np.asarray(batch.vectors, dtype=np.float64).sum(axis=0)
        count += len(batch.vectors)
        words = batch.labels.get("word", ())
        named += [
            batch.first_row + k for k, word in enumerate(words) if UNUSED.fullmatch(str(word))
        ]
    return VocabularySummary(total / count, count, np.array(named, np.int64))


def choose_bins(rows: int, unused: Rows) -> Bins:
    """Cut the vocabulary into bins, and say which are of frequent and of rare tokens.

    Ids are taken to rise as frequency falls. With unused tokens at the start of a vocabulary like
    BERT's the bins are the paper's; else the first and the last thousand ids without unused ones.
    """
    every = tuple((start, min(start + BIN, rows)) for start in range(0, rows, BIN))
    if rows >= names.RARE[1] and unused.max() < names.FREQUENT[0]:
        return Bins(every, names.FREQUENT, names.RARE)
    # Counts of unused ids before every id: a bin is free where they are the same at both ends.
    taken = np.zeros(rows + 1, np.int64)
    taken[unused + 1] = 1
    before = taken.cumsum()
    starts = np.arange(max(rows - BIN + 1, 0))
    free = starts[before[starts + BIN] == before[starts]]
    if not len(free) or free[0] + BIN > free[-1]:
        return Bins(every, None, None)
    first, last = int(free[0]), int(free[-1])
    return Bins(every, (first, first + BIN), (last, last + BIN))


def cosines_with_unused(cloud: Cloud, unused: Rows, centre: Vector) -> Vector:
    """Return the mean cosine of every row with the unused tokens; NaN for vectors of length 0.

    An unused token meets itself, as in the paper. Unused tokens of length 0 have no direction and
    do not count.

    Parameters
    ----------
    cloud : Cloud
        The vocabulary.
    unused : array
        Rows of unused tokens.
    centre : array
        What is subtracted from every row first.
    """
    # Two reads instead of one in memory: a vocabulary of a large model has a gigabyte of vectors.
    total, count = np.zeros(cloud.width), 0
    for first, units, inside in unit_batches(cloud, centre):
        mine = unused[(unused >= first) & (unused < first + len(units))] - first
        mine = mine[inside[mine]]
        total += units[mine].sum(axis=0)
        count += len(mine)
    # Without a direction nothing has a cosine: all come out as NaN.
    direction = total / count if count else np.full(cloud.width, np.nan)
    return np.concatenate(
        [
            np.where(inside, units @ direction, np.nan)
            for _, units, inside in unit_batches(cloud, centre)
        ]
    )


def unit_batches(cloud: Cloud, centre: Vector) -> Iterator[tuple[int, Vector, NDArray[np.bool_]]]:
    """Yield the first row of every batch, unit vectors, and which of them have a direction."""
    for batch in cloud.read():
        x = np.asarray(batch.vectors, dtype=np.float64) - centre
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        units = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)
        yield batch.first_row, units, lengths[:, 0] > 0


def bin_rows(cosines: Vector, correction: str, bins: Bins, protocol: str) -> list[Row]:
    """Return the mean cosine of every bin, and how much closer the rare one is.

    Parameters
    ----------
    cosines : array
        Of every row, as `cosines_with_unused` gives them.
    correction : str
        What was subtracted before.
    bins : Bins
        Which rows are looked at together.
    protocol : str
        What was read.
    """
    means = {ids: mean_of(cosines[slice(*ids)]) for ids in bins.ranges()}
    rows = [
        Row(
            "", names.bin_name(ids), correction, names.COSINE_WITH_UNUSED, mean,
            n=ids[1] - ids[0], protocol=protocol,
            note="" if mean is not None else "only zero vectors",
        )
        for ids, mean in means.items()
    ]  # fmt: skip
    value, low, high = None, None, None
    note = "the vocabulary is too small for two bins of a thousand ids without unused tokens"
    if bins.frequent is not None and bins.rare is not None:
        rare, frequent = means[bins.rare], means[bins.frequent]
        value = None if rare is None or frequent is None else rare - frequent
        reach = Z * math.hypot(
            *(mean_error(cosines[slice(*ids)]) for ids in (bins.rare, bins.frequent))
        )
        if value is not None and math.isfinite(reach):
            low, high = value - reach, value + reach
        note = f"{names.bin_name(bins.rare)} less {names.bin_name(bins.frequent)}"
    return [*rows, Row("", "", correction, names.DIFFERENCE, value, low=low, high=high, note=note)]


# Half an interval of 95 % in standard errors.
Z = 1.959964


def mean_error(cosines: Vector) -> float:
    """Return the standard error of the mean cosine of the tokens of a bin."""
    known = cosines[~np.isnan(cosines)]
    return float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.inf


def mean_of(cosines: Vector) -> float | None:
    """Return the mean of those that are defined; None where none is."""
    known = cosines[~np.isnan(cosines)]
    return float(known.mean()) if len(known) else None


def unused_cosines(cloud: Cloud, last: int | None = None) -> list[Row]:
    """Return the mean cosine of unused tokens with every bin of a vocabulary, raw and centred.

    Parameters
    ----------
    cloud : Cloud
        The vocabulary, labelled ``word``.
    last : int, optional
        Take this many of the last rows for unused, instead of those that are called so.
    """
    summary = summarise(cloud)
    unused, how = which_unused(summary, last, cloud.name)
    return [row for _, _, rows in cosines_by_centre(cloud, summary, unused, how) for row in rows]


def which_unused(summary: VocabularySummary, last: int | None, name: str) -> tuple[Rows, str]:
    """Return the rows of unused tokens and how they were found: by name, or as the last rows."""
    if last is not None:
        if not 0 < last < summary.rows:
            raise UsageError(f"{name} has {summary.rows:,} rows; {last:,} of them cannot be unused")
        return np.arange(summary.rows - last, summary.rows), "last ones taken for unused"
    if not len(summary.named):
        raise UsageError(
            f"{name}: no token is called [unused…]; --last-unused 1000 takes the last rows, "
            "as the paper does for RoBERTa"
        )
    return summary.named, names.BY_NAME


def cosines_by_centre(
    cloud: Cloud, summary: VocabularySummary, unused: Rows, how: str
) -> Iterator[tuple[str, Vector, list[Row]]]:
    """Yield what is subtracted, the cosine of every row then, and the rows of all bins."""
    bins = choose_bins(summary.rows, unused)
    protocol = f"{summary.rows:,} rows; {len(unused):,} {how}"
    for correction, centre in (("none", np.zeros_like(summary.mean)), ("center", summary.mean)):
        cosines = cosines_with_unused(cloud, unused, centre)
        yield correction, cosines, bin_rows(cosines, correction, bins, protocol)


def unused_rows(cloud: Cloud, frequencies: Frequencies, part: str) -> list[Row]:
    """Say how close unused tokens are to others by bins of ids and by known frequencies.

    The rank correlation of a token's mean cosine with its frequency needs no order of ids: below 0
    unused tokens are closer to rare tokens, above 0 to frequent ones. Tokens that a text lacks are
    the rarest.

    Parameters
    ----------
    cloud : Cloud
        The vocabulary, labelled ``word``.
    frequencies : Frequencies
        Of its tokens.
    part : str
        What the correlation is of.

    Returns
    -------
    list of Row
        Empty where no token is named as unused.
    """
    summary = summarise(cloud)
    if not len(summary.named):
        return []
    rows: list[Row] = []
    for correction, cosines, of_bins in cosines_by_centre(
        cloud, summary, summary.named, names.BY_NAME
    ):
        shares = frequencies.shares[: summary.rows]
        kept = ~np.isnan(shares) & ~np.isnan(cosines)
        score = spearman(cosines[kept], shares[kept])
        how = f"{of_bins[0].protocol}; over kinds of tokens; frequencies: {frequencies.source}"
        about = {UNUSED_TOKENS: len(summary.named)}
        rows.append(
            Row.of(score, "", part, correction, names.WITH_FREQUENCY, protocol=how, extra=about)
        )
        rows += of_bins
    return rows

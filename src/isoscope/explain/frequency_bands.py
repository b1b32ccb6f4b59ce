"""Tokens of like frequency together: how evenly each band fills its space, and where it lies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.measures.views import NONE
from isoscope.results.measuring import measure
from isoscope.results.result import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.explain.known_frequencies import Frequencies


LAST_RANKS = (100, 1_000, 10_000)
BANDS = (
    "ranks 1 to 100", "ranks 101 to 1,000", "ranks 1,001 to 10,000", "ranks beyond 10,000",
    "not in the text",
)  # fmt: skip
NOT_IN_TEXT = len(BANDS) - 1
UNKNOWN = -1

MEASURES = ("mean_cosine", "i1_scaled", "mean_norm")
WITH_MEAN = "cosine_with_mean"

FEWEST_ROWS = 30
"""Of fewer vectors a mean cosine or an I1 says more about the draw than about the band."""


def band_numbers(frequencies: Frequencies) -> NDArray[np.int64]:
    """Return the band of every token of a vocabulary, by its rank; −1 without a frequency.

    Among equally frequent tokens the first in the vocabulary has the first rank.
    """
    shares = frequencies.shares
    bands = np.full(len(shares), UNKNOWN)
    counted = np.flatnonzero(shares > 0)
    order = counted[np.argsort(-shares[counted], kind="stable")]
    bands[order] = np.searchsorted(LAST_RANKS, np.arange(1, len(order) + 1))
    bands[shares == 0] = NOT_IN_TEXT
    return bands


def band_rows(
    where: str,
    vectors: NDArray[Any],
    ids: NDArray[np.int64],
    frequencies: Frequencies,
    texts: NDArray[np.int64] | None = None,
) -> list[Row]:
    """Measure the vectors of every band, and the cosine of their mean with the mean of all.

    Parameters
    ----------
    where : str
        What the vectors are of: a matrix or a layer.
    vectors : array
        A row for every token of a vocabulary, or for every occurrence in a text.
    ids : array
        The token of every row.
    frequencies : Frequencies
        Of the vocabulary.
    texts : array, optional
        The text of every row, of which intervals take account; None for a matrix, which is all
        there is and has no error.
    """
    bands = band_numbers(frequencies)[ids]
    left = int((bands == UNKNOWN).sum())
    protocol = (
        f"{len(ids):,} rows, {left:,} without a frequency left out of all bands; "
        f"frequencies: {frequencies.source}"
        + ("" if texts is None else "; rows of one text counted together")
    )
    mean = np.asarray(vectors.mean(axis=0, dtype=np.float64))
    rows: list[Row] = []
    for number, name in enumerate(BANDS):
        inside = bands == number
        if inside.any():
            known = None if texts is None else texts[inside]
            rows += [
                replace(row, subject="", part=f"{where}, {name}", protocol=protocol)
                for row in rows_of(vectors[inside], mean, known)
            ]
    return rows


def rows_of(
    vectors: NDArray[Any], mean: NDArray[np.float64], texts: NDArray[np.int64] | None
) -> Iterator[Row]:
    """Yield what is measured of one band; nothing is, where it is too small."""
    if len(vectors) < FEWEST_ROWS:
        note = f"left out: fewer than {FEWEST_ROWS} rows"
        for name in (*MEASURES, WITH_MEAN):
            yield Row("", "", NONE, name, None, n=len(vectors), note=note)
        return
    yield from measure(
        ArrayCloud(vectors), MEASURES, [NONE],
        intervals=texts is not None, documents=texts,
    )  # fmt: skip
    own = vectors.mean(axis=0, dtype=np.float64)
    lengths = float(np.linalg.norm(own) * np.linalg.norm(mean))
    yield Row(
        "", "", NONE, WITH_MEAN, float(own @ mean) / lengths if lengths else None,
        n=len(vectors), note="" if lengths else "undefined: a mean is 0",
    )  # fmt: skip

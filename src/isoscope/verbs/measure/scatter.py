"""Some vectors of a cloud on two components, as they are and corrected, for a picture.

A correction is fitted on the whole cloud; the components are those of the vectors that are drawn.
Vectors as they are stand on their first two singular vectors, so that a common offset can be seen;
corrected ones on their principal components (Biś et al. 2021, figure 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.registry import make_correction
from isoscope.data.blocks import Dealt
from isoscope.data.combine import SingleCloud
from isoscope.data.open import open_cloud
from isoscope.data.sampling import Sample, SampleTaker
from isoscope.data.selection import RowSelection
from isoscope.measures.views import NONE
from isoscope.results.result import Result, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from isoscope.data.base import CloudGroup


# Vectors that are drawn of each space: four spaces side by side make a full scatter.
POINTS = 500

WORD = "word"


def scatter_tables(
    source: Any,
    corrections: Sequence[str],
    result: Result,
    *,
    column: str | None = None,
    drop_invalid: bool = False,
    seed: int = 0,
) -> list[Table]:
    """Return tables of points for every cloud and space of a result.

    Parameters
    ----------
    source
        What ``open_cloud`` takes; it is read once for the points, and once for every correction.
    corrections : sequence of str
        Spaces, as corrections are written.
    result : Result
        What was measured: its clouds give subjects and parts their names.
    column, drop_invalid, seed
        As for ``isoscope.measure``.
    """
    group: Any = RowSelection(open_cloud(source, column=column), drop_invalid=drop_invalid)
    clouds = list(dict.fromkeys((row.subject, row.part) for row in result.rows))
    tables = []
    for (subject, part), (name, drawn) in zip(clouds, drawn_rows(group, seed).items(), strict=True):
        for correction in corrections:
            vectors = drawn.vectors
            if correction != NONE:
                fitted = make_correction(correction).fit_cloud(SingleCloud(group, name))
                vectors = np.asarray(fitted.transform(drawn.vectors), np.float64)
            note = f"{len(vectors):,} vectors, drawn at random (seed {seed})"
            points = points_of(vectors, drawn.groups, centred=correction != NONE)
            tables.append(Table(subject, part, correction, "projections", points, note))
    return tables


def drawn_rows(group: CloudGroup, seed: int) -> dict[str, Sample]:
    """Draw rows of every cloud at random, in one read; words take the place of their groups."""
    takers: dict[str, SampleTaker] = {}
    for batches in group.batches():
        for name, batch in batches.items():
            rows = batch.first_row + np.arange(len(batch.vectors))
            words: Any = np.asarray(batch.labels.get(WORD, rows), dtype=object)
            if name not in takers:
                takers[name] = SampleTaker(batch.vectors.shape[1], POINTS, seed)
            takers[name].add(batch, Dealt(words))
    return {name: taker.result() for name, taker in takers.items()}


def points_of(
    vectors: NDArray[np.float64], words: Iterable[Any], *, centred: bool
) -> list[dict[str, Any]]:
    """Return vectors on their first two components, with words and lengths."""
    from_origin = vectors - vectors.mean(axis=0) if centred else vectors
    _, _, axes = np.linalg.svd(from_origin, full_matrices=False)
    places = np.zeros((len(vectors), 2))  # a cloud of one dimension has no second component
    places[:, : min(2, len(axes))] = from_origin @ axes[:2].T
    lengths = np.linalg.norm(vectors, axis=1)
    return [
        {"first": float(x), "second": float(y), "token": str(word), "length": float(length)}
        for (x, y), word, length in zip(places, words, lengths, strict=True)
    ]

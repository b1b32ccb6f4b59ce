"""Some vectors of a cloud on two components, as they are and corrected, for a picture.

A correction is fitted on the whole cloud; the components are those of the vectors that are drawn.
Vectors as they are stand on their first two singular vectors, so that a common offset can be seen;
corrected ones on their principal components (Biś et al. 2021, figure 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.combine import SingleCloud
from isoscope.data.open import open_cloud
from isoscope.data.sampling import row_keys
from isoscope.data.selection import RowSelection
from isoscope.measures.views import NONE
from isoscope.results.result import Result, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.data.base import CloudGroup


POINTS = 500
"""Vectors that are drawn of each space: four spaces side by side make a full scatter."""

WORD = "word"


@dataclass(frozen=True)
class Drawn:
    """Some rows of a cloud, in the order of the cloud."""

    rows: NDArray[np.int64]
    vectors: NDArray[np.float64]
    words: list[str]


def projections(
    source: Any,
    corrections: Sequence[str],
    result: Result,
    *,
    column: str | None = None,
    drop_invalid: bool = False,
    seed: int = 0,
) -> Result:
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
    from isoscope.corrections.registry import make_correction  # imports scikit-learn

    group: Any = RowSelection(open_cloud(source, column=column), drop_invalid=drop_invalid)
    clouds = list(dict.fromkeys((row.subject, row.part) for row in result.rows))
    tables = []
    for (subject, part), (name, drawn) in zip(clouds, drawn_rows(group, seed).items(), strict=True):
        for correction in corrections:
            vectors: Any = drawn.vectors
            if correction != NONE:
                fitted = make_correction(correction).fit_cloud(SingleCloud(group, name))
                vectors = np.asarray(fitted.transform(drawn.vectors), np.float64)
            note = f"{len(drawn.rows):,} vectors, drawn at random (seed {seed})"
            points = points_of(vectors, drawn, centred=correction != NONE)
            tables.append(Table(subject, part, correction, "projections", points, note))
    return Result([], tables)


def drawn_rows(group: CloudGroup, seed: int) -> dict[str, Drawn]:
    """Draw rows of every cloud at random, in one read."""
    kept: dict[str, tuple[NDArray[Any], ...]] = {}
    for batches in group.batches():
        for name, batch in batches.items():
            vectors = np.asarray(batch.vectors, np.float64)
            rows = batch.first_row + np.arange(len(vectors))
            keys = row_keys(rows, seed)
            lowest = np.argsort(keys, kind="stable")[:POINTS]
            words = batch.labels.get(WORD, rows)
            some: tuple[NDArray[Any], ...] = (
                keys[lowest], rows[lowest], vectors[lowest],
                np.asarray(words, dtype=object)[lowest],
            )  # fmt: skip
            if name in kept:
                both = [np.concatenate(pair) for pair in zip(kept[name], some, strict=True)]
                order = np.argsort(both[0], kind="stable")[:POINTS]
                some = tuple(values[order] for values in both)
            kept[name] = some
    found = {}
    for name, (_, rows, vectors, words) in kept.items():
        order = np.argsort(rows, kind="stable")
        found[name] = Drawn(rows[order], vectors[order], [str(word) for word in words[order]])
    return found


def points_of(vectors: NDArray[np.float64], drawn: Drawn, *, centred: bool) -> list[dict[str, Any]]:
    """Return vectors on their first two components, with words and lengths."""
    from_origin = vectors - vectors.mean(axis=0) if centred else vectors
    _, _, axes = np.linalg.svd(from_origin, full_matrices=False)
    places = np.zeros((len(vectors), 2))
    places[:, : min(2, len(axes))] = from_origin @ axes[:2].T
    lengths = np.linalg.norm(vectors, axis=1)
    return [
        {"first": float(x), "second": float(y), "token": word, "length": float(length)}
        for (x, y), word, length in zip(places, drawn.words, lengths, strict=True)
    ]

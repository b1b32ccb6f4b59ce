"""What ``measure()`` says of a search: queries, neighbours, shorter vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.nearest_neighbours import load_faiss
from isoscope.data.open import open_cloud
from isoscope.data.sampling import draw
from isoscope.errors import UsageError
from isoscope.tasks.datasets.own_pairs import read_own_pairs
from isoscope.verbs.measure.queries import measure_queries
from isoscope.verbs.measure.search.recall import neighbours
from isoscope.verbs.measure.search.reduction import check_components, parse_components, reduce
from isoscope.verbs.measure.search.sample import SearchOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.progress import Progress
    from isoscope.results.result import Result
    from isoscope.verbs.measure.search.request import SearchRequest


def check(asked: SearchRequest, source: Any, column: str | None) -> None:
    """Refuse what cannot be answered before anything is read."""
    if not asked.searches:
        return
    load_faiss()
    if asked.pairs is not None:
        read_own_pairs(Path(asked.pairs))
    SearchOptions(sample=asked.sample, k=asked.k, seed=asked.seed)  # which checks them
    cloud = open_cloud(source, column=column)
    if len(cloud.names) > 1:
        named = source if isinstance(source, str | Path) else "this source"
        raise UsageError(
            f"--neighbours and --reduce search in one cloud, and {named} has "
            f"{len(cloud.names)}; name one of them"
        )
    if asked.reduce is not None:
        check_components(parse_components(asked.reduce), cloud.widths[0], cloud.names[0])


def answer(
    asked: SearchRequest,
    source: Any,
    corrections: Sequence[str],
    *,
    column: str | None,
    drop_invalid: bool,
    rows: int | None,
    progress: Progress | None,
) -> list[Result]:
    """Return what there is to say; with ``rows``, of a sample of so many rows, as all else."""
    cloud: Any = open_cloud(source, column=column)
    if rows is not None and (cloud.rows is None or rows < cloud.rows):
        cloud = draw(cloud, rows, asked.seed)
    how: dict[str, Any] = {"seed": asked.seed, "drop_invalid": drop_invalid, "progress": progress}
    searched = {"sample": asked.sample, "k": asked.k, **how}
    queries: Any = None if asked.queries is None else open_cloud(asked.queries, column=column)
    centres = asked.centres or "both"
    found = []
    if queries is not None:
        found.append(measure_queries(cloud, queries, corrections, centres=centres, **how))
    if asked.neighbours:
        found.append(neighbours(cloud, corrections, queries=queries, centres=centres, **searched))
    if asked.reduce is not None:
        found.append(reduce(cloud, asked.reduce, pairs=asked.pairs, **searched))
    return found

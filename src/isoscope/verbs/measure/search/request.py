"""What ``measure()`` says of a search: queries, neighbours, shorter vectors."""

from __future__ import annotations

from dataclasses import dataclass
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
from isoscope.verbs.measure.search.sample import check_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.corrections.query_centre import Centres
    from isoscope.progress import Progress
    from isoscope.results.result import Result


@dataclass(frozen=True)
class SearchRequest:
    """What is asked about a search in a cloud, in the words of ``measure()``."""

    neighbours: bool
    reduce: str | None
    pairs: str | Path | None
    queries: Any
    centres: Centres | None
    sample: int
    k: int
    seed: int

    def check(self, source: Any, column: str | None) -> None:
        """Refuse what cannot be answered before anything is read."""
        if not self.neighbours and self.reduce is None:
            return
        load_faiss()
        if self.pairs is not None:
            read_own_pairs(Path(self.pairs))
        check_sizes(self.sample, self.k, self.seed)
        cloud = open_cloud(source, column=column)
        if len(cloud.names) > 1:
            named = source if isinstance(source, str | Path) else "this source"
            raise UsageError(
                f"--neighbours and --reduce search in one cloud, and {named} has "
                f"{len(cloud.names)}; name one of them"
            )
        if self.reduce is not None:
            components = parse_components(self.reduce)
            check_components(components, cloud.widths[0], cloud.names[0])

    def results(
        self,
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
            cloud = draw(cloud, rows, self.seed)
        asked: Any = None if self.queries is None else open_cloud(self.queries, column=column)
        centres = self.centres or "both"
        how: dict[str, Any] = {
            "seed": self.seed, "drop_invalid": drop_invalid, "progress": progress,
        }  # fmt: skip
        searched = {"sample": self.sample, "k": self.k, **how}
        found = []
        if asked is not None:
            found.append(measure_queries(cloud, asked, corrections, centres=centres, **how))
        if self.neighbours:
            found.append(neighbours(cloud, corrections, queries=asked, centres=centres, **searched))
        if self.reduce is not None:
            found.append(reduce(cloud, self.reduce, pairs=self.pairs, **searched))
        return found

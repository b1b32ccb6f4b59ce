"""What ``isoscope measure`` says of a search: ``--queries``, ``--neighbours``, ``--reduce``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.compute.stage import Progress
    from isoscope.corrections.query_centre import Centres
    from isoscope.results.result import Result


SAMPLE, K = 10_000, 10
"""Of ``--neighbours`` and ``--reduce``, where the user names no other."""


@dataclass(frozen=True)
class Search:
    """What is asked about a search."""

    neighbours: bool
    reduce: str | None
    pairs: Path | None
    sample: int
    k: int
    seed: int
    corrections: list[str]
    queries: str | None = None
    centres: Centres | None = None

    def check(self, source: str, column: str | None, rows: int | None) -> None:
        """Refuse what cannot be answered before anything is read."""
        if self.centres is not None and self.queries is None:
            raise UsageError("--centres is about queries and documents; name --queries")
        if self.queries is not None and self.reduce is not None:
            raise UsageError(
                "--reduce looks for the rows of the source; leave --queries out of this call"
            )
        if self.pairs is not None and self.reduce is None:
            raise UsageError(
                "--pairs is for --reduce; isoscope advise --pairs says what corrections do to them"
            )
        if not self.neighbours and self.reduce is None:
            if (self.k, self.sample) != (K, SAMPLE):
                raise UsageError(
                    "--k and --neighbour-sample are those of --neighbours or --reduce; name one"
                )
            return
        if self.pairs is not None and rows is not None:
            raise UsageError("--pairs names rows of the whole source; leave --sample out")
        from isoscope.compute.faiss_library import load_faiss
        from isoscope.data.open import open_cloud
        from isoscope.tasks.own_pairs import read_own_pairs
        from isoscope.verbs.measure.search.reduction import check_components, parse_components
        from isoscope.verbs.measure.search.sample import check_sizes

        load_faiss()
        if self.pairs is not None:
            read_own_pairs(self.pairs)
        check_sizes(self.sample, self.k, self.seed)
        cloud = open_cloud(source, column=column)
        if len(cloud.names) > 1:
            raise UsageError(
                f"--neighbours and --reduce search in one cloud, and {source} has "
                f"{len(cloud.names)}; name one of them"
            )
        if self.reduce is not None:
            components = parse_components(self.reduce)
            check_components(components, cloud.widths[0], cloud.names[0])

    def results(
        self,
        source: str,
        *,
        column: str | None,
        drop_invalid: bool,
        rows: int | None,
        progress: Progress | None,
    ) -> list[Result]:
        """Return what there is to say; with ``rows``, of a sample of so many rows, as all else."""
        if not self.neighbours and self.reduce is None and self.queries is None:
            return []
        from isoscope.data.open import open_cloud
        from isoscope.data.sampling import draw

        cloud: Any = open_cloud(source, column=column)
        if rows is not None and (cloud.rows is None or rows < cloud.rows):
            cloud = draw(cloud, rows, self.seed)
        asked: Any = None if self.queries is None else open_cloud(self.queries, column=column)
        centres = self.centres or "both"
        found = []
        if asked is not None:
            from isoscope.verbs.measure.queries import measure_queries

            found.append(
                measure_queries(
                    cloud, asked, self.corrections, centres=centres, drop_invalid=drop_invalid,
                    seed=self.seed, progress=progress,
                )
            )  # fmt: skip
        if self.neighbours:
            from isoscope.verbs.measure.search.recall import neighbours

            found.append(
                neighbours(
                    cloud, self.corrections, queries=asked, centres=centres, sample=self.sample,
                    k=self.k, seed=self.seed, drop_invalid=drop_invalid, progress=progress,
                )
            )  # fmt: skip
        if self.reduce is not None:
            from isoscope.verbs.measure.search.reduction import reduce

            found.append(
                reduce(
                    cloud, self.reduce, pairs=self.pairs, sample=self.sample, k=self.k,
                    seed=self.seed, drop_invalid=drop_invalid, progress=progress,
                )
            )  # fmt: skip
        return found

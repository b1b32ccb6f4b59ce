"""What is asked about a search in a cloud, and what ``measure()`` says of it.

Answers need FAISS and scikit-learn, which measures do not: they are imported when they are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.open import open_cloud
from isoscope.data.sampling import draw
from isoscope.errors import UsageError
from isoscope.verbs.measure.search.names import SAMPLE, K

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

    @property
    def searches(self) -> bool:
        """Whether the cloud is searched in."""
        return self.neighbours or self.reduce is not None

    @property
    def asked(self) -> bool:
        """Whether anything is asked at all."""
        return self.searches or self.queries is not None

    def refuse_idle(self, sample: int | None) -> None:
        """Refuse what would be ignored, or cannot be answered together.

        Parameters
        ----------
        sample : int, optional
            How many rows of the cloud are measured, where that is not all.
        """
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
        if not self.searches and (self.k, self.sample) != (K, SAMPLE):
            raise UsageError(
                "--k and --neighbour-sample are those of --neighbours or --reduce; name one"
            )
        if self.pairs is not None and sample is not None:
            raise UsageError("--pairs names rows of the whole source; leave --sample out")

    def check(self, source: Any, column: str | None) -> None:
        """Refuse what cannot be answered before anything is read."""
        if not self.searches:
            return
        from isoscope.compute.nearest_neighbours import load_faiss
        from isoscope.tasks.datasets.own_pairs import read_own_pairs
        from isoscope.verbs.measure.search.reduction import check_components, parse_components
        from isoscope.verbs.measure.search.sample import SearchOptions

        load_faiss()
        if self.pairs is not None:
            read_own_pairs(Path(self.pairs))
        SearchOptions(sample=self.sample, k=self.k, seed=self.seed)  # which checks them
        cloud = open_cloud(source, column=column)
        if len(cloud.names) > 1:
            named = source if isinstance(source, str | Path) else "this source"
            raise UsageError(
                f"--neighbours and --reduce search in one cloud, and {named} has "
                f"{len(cloud.names)}; name one of them"
            )
        if self.reduce is not None:
            check_components(parse_components(self.reduce), cloud.widths[0], cloud.names[0])

    def answer(
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
        from isoscope.verbs.measure.queries import measure_queries
        from isoscope.verbs.measure.search.recall import neighbours
        from isoscope.verbs.measure.search.reduction import reduce

        cloud: Any = open_cloud(source, column=column)
        if rows is not None and (cloud.rows is None or rows < cloud.rows):
            cloud = draw(cloud, rows, self.seed)
        how: Any = {"seed": self.seed, "drop_invalid": drop_invalid, "progress": progress}
        searched = {"sample": self.sample, "k": self.k, **how}
        queries: Any = None if self.queries is None else open_cloud(self.queries, column=column)
        centres = self.centres or "both"
        found = []
        if queries is not None:
            found.append(measure_queries(cloud, queries, corrections, centres=centres, **how))
        if self.neighbours:
            asking = {"queries": queries, "centres": centres}
            found.append(neighbours(cloud, corrections, **asking, **searched))
        if self.reduce is not None:
            found.append(reduce(cloud, self.reduce, pairs=self.pairs, **searched))
        return found

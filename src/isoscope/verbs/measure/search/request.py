"""What is asked about a search in a cloud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError
from isoscope.verbs.measure.search.names import SAMPLE, K

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.corrections.query_centre import Centres


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

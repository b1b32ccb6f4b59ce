"""Spaces to search in: a correction of the documents, and what queries go through beside it.

Where documents x go through y = W (x − μ), queries q go through W (q − μ), or through W (q − μ′)
with the mean μ′ of the queries. Queries are often shorter than documents, or questions where these
are statements: the two clouds may have different centres, and the documents' one then leaves a
common offset in all queries. W is learned from the documents either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from isoscope.corrections.affine import Centring, centred_on
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.fit import fit_together
from isoscope.corrections.named import in_memory
from isoscope.corrections.registry import make_correction
from isoscope.data.sampling import draw
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError, one_of
from isoscope.measures.views import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction
    from isoscope.data.base import CloudGroup
    from isoscope.progress import Progress


# Whether queries are centred on the documents' mean, on their own, or each is tried.
Centres = Literal["shared", "own", "both"]

# Stands behind a correction whose queries have a centre of their own.
OWN = " (own centres)"


def check_centres(centres: str) -> None:
    """Refuse what is no way to centre queries."""
    one_of("centres", centres, get_args(Centres))


@dataclass(frozen=True)
class TwoSided:
    """What documents and queries go through before they are compared.

    Attributes
    ----------
    name : str
        What results call it; ``none`` for vectors as they are.
    documents, queries : Correction or None
        Fitted; None leaves vectors as they are.
    """

    name: str
    documents: Correction | None = None
    queries: Correction | None = None

    def of_documents(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Correct documents."""
        return rows if self.documents is None else self.documents.transform(rows)

    def of_queries(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Correct queries."""
        return rows if self.queries is None else self.queries.transform(rows)


def two_sided_spaces(
    corrections: Sequence[str],
    documents: CloudGroup,
    queries: CloudGroup | None = None,
    centres: Centres = "both",
    progress: Progress | None = None,
) -> list[TwoSided]:
    """Fit corrections on documents, and give queries the same, or their own centre, or both.

    Parameters
    ----------
    corrections : sequence of str
        Names, ``none`` among them.
    documents : CloudGroup
        What corrections are fitted on, in one read where sums are enough.
    queries : CloudGroup, optional
        Another cloud of the same width.
    centres : {"both", "shared", "own"}
        Whether queries are centred on the documents' mean, on their own, or both.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """
    check_centres(centres)
    if queries is not None and queries.widths != documents.widths:
        raise UsageError(
            f"documents have {documents.widths[0]:,} dimensions and queries {queries.widths[0]:,}; "
            "both should come from one model"
        )
    fitted = {name: make_correction(name) for name in corrections if name != NONE}
    if fitted:
        fit_together(list(fitted.values()), documents, progress=progress)
    shared = [TwoSided(name, fitted.get(name), fitted.get(name)) for name in corrections]
    if queries is None or centres == "shared":
        return shared
    with_centre = [one for one in shared if isinstance(one.documents, Centring)]
    if not with_centre:
        return shared
    mean = Center().fit_cloud(queries, progress=progress).mean_
    own = [
        TwoSided(one.name + OWN, one.documents, centred_on(one.documents, mean))
        for one in with_centre
    ]
    kept = [one for one in shared if centres == "both" or not isinstance(one.documents, Centring)]
    return [*kept, *own]


def sampled_rows(cloud: CloudGroup, size: int, seed: int, *, drop_invalid: bool) -> NDArray[Any]:
    """Draw rows of a cloud, all where there are no more; some that are not finite may go."""
    rows = in_memory(RowSelection(draw(cloud, size, seed), drop_invalid=drop_invalid))
    if len(rows) < 2:
        raise DataError(f"{cloud.names[0]}: fewer than two rows are left")
    return np.asarray(rows)

"""The vectors that advice stands on: of a model's texts, or rows of a source with all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.base import one_cloud
from isoscope.data.arrays import is_tensor
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError
from isoscope.measures.kernels import moments_kernel_for
from isoscope.tasks.advice.fitting import MOST_ROWS, Background
from isoscope.tasks.token_fits import TokenSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.measures.kernels import MomentsKernel
    from isoscope.measures.reads.moments import MomentParts


@dataclass(frozen=True)
class SourceRows:
    """Some rows of a source, and the sums of all others."""

    vectors: NDArray[Any]
    background: Background
    name: str


def source_rows(
    source: Any,
    wanted: NDArray[np.intp],
    parts: MomentParts,
    *,
    column: str | None = None,
    drop_invalid: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> SourceRows:
    """Read a source once: keep some rows, and sum up the others.

    Parameters
    ----------
    source : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes.
    wanted : array of int
        Numbers of the rows to keep, in order, each once.
    parts : MomentParts
        What is summed over the others.
    column : str, optional
        Which array of a file that holds several.
    drop_invalid : bool
        Leave rows that are not finite out of the sums, and items that stand on one without a
        score, instead of stopping.
    seed : int
        Of the sample of the others.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """
    from isoscope.data.open import open_cloud

    group = open_cloud(source, column=column)
    one_cloud(group)  # which refuses several
    kept: list[NDArray[Any]] = []
    kernel: MomentsKernel | None = None
    sample = TokenSample(MOST_ROWS, seed)
    found = read = 0
    for batches in group.batches():
        (batch,) = batches.values()
        rows = batch.vectors.float().cpu().numpy() if is_tensor(batch.vectors) else batch.vectors
        first, read = batch.first_row, batch.first_row + len(rows)
        here = wanted[(wanted >= first) & (wanted < read)] - first
        chosen = np.zeros(len(rows), np.bool_)
        chosen[here] = True
        found += len(here)
        finite = np.asarray(np.isfinite(rows).all(axis=1))
        if not finite.all() and not drop_invalid:
            for _ in RowSelection(group).batches():
                pass  # which names the first such row
        # NaN stands for a row without a vector, as for a text without a token.
        kept.append(np.where(finite[here, None], rows[here], np.nan).astype(rows.dtype))
        others = np.asarray(rows[~chosen & finite])
        if len(others):
            kernel = moments_kernel_for(others, parts, double=False) if kernel is None else kernel
            kernel.add(others)
            sample.add_rows(others)
        if progress is not None:
            progress("read vectors", read, group.rows)
    if found < len(wanted):
        raise DataError(
            f"{group.names[0]} has {read:,} rows, from 0; there is no row {int(wanted.max()):,}"
        )
    background = Background(
        None if kernel is None else kernel.result(), sample.rows(), group.dtypes[0]
    )
    return SourceRows(np.concatenate(kept), background, group.names[0])

"""Without labels: what can be known of a space, and what cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.results.measuring import measure
from isoscope.results.render import REMARKS

if TYPE_CHECKING:
    from isoscope.compute.stage import Progress
    from isoscope.results.result import Result


MEASURES = ("mean_cosine", "i1_scaled", "effective_rank", "hubness")
CORRECTIONS = ("none", "center", "all-but-the-top", "whiten")

CAN = (
    "Without labels this is what can be known: how evenly the space is filled, what the likely "
    "cause is, and what each correction would make of it."
)
CANNOT = (
    "It cannot be known whether any of it helps: more isotropic is not better by itself, and "
    "whitening, which looks best in these columns, often lowers scores. A few hundred pairs of "
    "your own with a score or yes/no (--pairs), judged queries (--retrieval) or a benchmark like "
    "your task (--task) settle it."
)


def what_can_be_known(
    source: Any,
    *,
    column: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Measure a space as it is and corrected, and say what that does not tell.

    Parameters
    ----------
    source : str, Path, array, tensor or CloudGroup
        Anything that ``isoscope.measure`` takes.
    column : str, optional
        Which array of a file that holds several.
    drop_invalid : bool
        Leave out rows with NaN or infinities, and count them, instead of stopping.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    command : str
        Kept in the result.
    """
    found = measure(
        source, MEASURES, CORRECTIONS, column=column, drop_invalid=drop_invalid,
        progress=progress, command=command,
    )  # fmt: skip
    return replace(found, extra={**found.extra, REMARKS: [CAN, CANNOT]})

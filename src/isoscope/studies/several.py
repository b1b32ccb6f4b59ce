"""Results about several subjects, measured one after the other and put together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.joining import joined as put_together
from isoscope.results.measuring import measure
from isoscope.studies.subjects import open_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.results.result import Result
    from isoscope.studies.registry import Request


def measured(request: Request, measures: str, corrections: str) -> Result:
    """Measure every subject and put the results together under the subjects' names."""
    results = []
    for subject in request.subjects:
        found = measure(
            open_vectors(subject, request.column), measures, corrections,
            seed=request.seed, progress=request.progress,
        )  # fmt: skip
        results.append(renamed(found, subject=subject.name))
    return joined(results)


def renamed(result: Result, **fields: str) -> Result:
    """Return a result with other subjects or parts: as the user calls them."""
    return replace(
        result,
        rows=[replace(row, **fields) for row in result.rows],  # type: ignore[arg-type]
        tables=[replace(table, **fields) for table in result.tables],  # type: ignore[arg-type]
    )


def joined(results: Iterable[Result]) -> Result:
    """Put results about several subjects together; a study has claims instead of verdicts."""
    return replace(put_together(results), verdicts=[])

"""Measures of a space as rows and tables.

A row says why it has no interval (``no_interval``), so that a missing one is never taken for a
certain number.
"""

from __future__ import annotations

from isoscope.measures.intervals import IntervalEstimator
from isoscope.measures.registry import Measure, TableValue, Value
from isoscope.measures.space import Space
from isoscope.results.result import Row, Table


def add(
    item: Measure,
    space: Space,
    estimator: IntervalEstimator,
    where: tuple[str, str],
    protocol: str,
    rows: list[Row],
    tables: list[Table],
) -> None:
    """Evaluate one measure on one space and file what it gave."""
    subject, part = where
    found = item.of(space)
    if isinstance(found, TableValue):
        tables.append(Table(subject, part, space.correction, item.name, found.rows, found.note))
        return
    several = {"": found} if isinstance(found, Value) else found
    for key, value in several.items():
        interval = estimator.interval(item, space, value)
        rows.append(
            Row(
                subject,
                part,
                space.correction,
                f"{item.text}/{key}" if key else item.text,
                value.value,
                log10=value.log10,
                low=interval.low,
                high=interval.high,
                n=space.rows if value.rows is None else value.rows,
                protocol=protocol,
                note=value.note,
                extra={**value.extra, **interval.reasons()},
            )
        )

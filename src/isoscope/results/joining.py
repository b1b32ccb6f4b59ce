"""Results about several subjects as one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.results.measuring import versions
from isoscope.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable


def beside(result: Result, others: Iterable[Result]) -> Result:
    """Put what else was found about the same cloud beside a result, whose rows were counted."""
    for other in others:
        result = replace(
            result,
            rows=[*result.rows, *other.rows],
            tables=[*result.tables, *other.tables],
            verdicts=[*result.verdicts, *other.verdicts],
            seeds={**result.seeds, **other.seeds},
            versions={**result.versions, **other.versions},
            extra={**result.extra, **other.extra},
        )
    return result


def joined(results: Iterable[Result]) -> Result:
    """Put results together; counts of what was left out add up."""
    every = list(results)
    left_out: dict[str, int] = {}
    seeds: dict[str, int] = {}
    known = versions()
    extra: dict[str, Any] = {}
    for result in every:
        for why, count in result.left_out.items():
            left_out[why] = left_out.get(why, 0) + count
        seeds |= result.seeds
        known |= result.versions
        for name, value in result.extra.items():
            several = isinstance(value, dict) and isinstance(extra.get(name), dict)
            extra[name] = extra[name] | value if several else value
    return Result(
        [row for result in every for row in result.rows],
        [table for result in every for table in result.tables],
        [verdict for result in every for verdict in result.verdicts],
        left_out,
        seeds,
        known,
        extra=extra,
    )

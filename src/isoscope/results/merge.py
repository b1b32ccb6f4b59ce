"""Several results as one, and what was left out of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from isoscope.results.result import Result, versions


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
            # Mappings, such as the provenance of models, are merged; of others the last one stays.
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


SKIPPED = "shards that could not be read"
SKIPPED_SHARDS = "skipped_shards"

# Shards left out that a warning names; the result names all.
NAMED = 5


def skipped_count(skipped: Mapping[str, str]) -> dict[str, int]:
    """Count the shards that were left out, for a result, and warn; nothing where none was."""
    if not skipped:
        return {}
    for name, why in list(skipped.items())[:NAMED]:
        warnings.warn(f"left out: {why if name in why else f'{name}: {why}'}", stacklevel=3)
    if len(skipped) > NAMED:
        warnings.warn(f"left out: {len(skipped) - NAMED:,} more; --json names them", stacklevel=3)
    return {SKIPPED: len(skipped)}


def skipped_shards(skipped: Mapping[str, str]) -> dict[str, Any]:
    """Name the shards that were left out, for a result."""
    return {SKIPPED_SHARDS: dict(skipped)} if skipped else {}


def renamed(result: Result, **fields: str) -> Result:
    """Return a result with other subjects or parts: as the user calls them."""
    return replace(
        result,
        rows=[replace(row, **fields) for row in result.rows],  # type: ignore[arg-type]
        tables=[replace(table, **fields) for table in result.tables],  # type: ignore[arg-type]
    )


def joined_without_verdicts(results: Iterable[Result]) -> Result:
    """Put results about several subjects together; a study has claims instead of verdicts."""
    return replace(joined(results), verdicts=[])

"""A study with several seeds: how far its figures move, and whether its verdicts stay.

The figures of a record are those of the first seed, with their intervals. The rows of the other
seeds are kept beside them. A figure that moves gets the mean and the standard deviation over seeds;
a claim is decided only where every seed decides it in the same way.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.rows import row_key
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE, NOT_RUN, UNDECIDED, Verdict

# Field of a record: rows of the other seeds, by seed.
OTHER_SEEDS = "other_seeds"

# Fields of a row: mean and standard deviation over seeds, and how many seeds.
SEED_MEAN, SEED_SD, SEED_COUNT = "seed_mean", "seed_sd", "seed_count"


def as_other_seed(result: Result) -> list[dict[str, Any]]:
    """Return the rows of another seed as a record keeps them."""
    return result.to_rows()


def of_other_seeds(result: Result) -> list[Result]:
    """Return the record as it would be with each of the other seeds."""
    stored: Mapping[str, Sequence[Mapping[str, Any]]] = result.extra.get(OTHER_SEEDS, {})
    return [replace(result, rows=[Row.from_dict(row) for row in rows]) for rows in stored.values()]


def with_seed_spread(result: Result) -> Result:
    """Give figures that move with the seed their mean and spread."""
    others = [{row_key(row): row for row in other.rows} for other in of_other_seeds(result)]
    if not others:
        return result

    def spread(row: Row) -> Row:
        # A model that was run with fewer seeds than another has fewer values.
        values = [row.value, *(other[row_key(row)].value for other in others
                               if row_key(row) in other)]  # fmt: skip
        known = [value for value in values if value is not None]
        if len(known) < 2 or len(known) < len(values) or len(set(known)) == 1:
            return row
        about = {
            SEED_MEAN: statistics.fmean(known), SEED_SD: statistics.stdev(known),
            SEED_COUNT: len(known),
        }  # fmt: skip
        return replace(row, extra={**row.extra, **about})

    return replace(result, rows=[spread(row) for row in result.rows])


def agreed(verdicts: Sequence[Verdict], others: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
    """Leave a claim undecided where seeds decide it in different ways."""
    found = [{(one.text, one.subject): one.outcome for one in other} for other in others]

    def settled(verdict: Verdict) -> Verdict:
        if verdict.outcome in (NOT_APPLICABLE, NOT_RUN):
            return verdict
        key = (verdict.text, verdict.subject)
        said = [verdict.outcome, *(other[key] for other in found if key in other)]
        said = [one for one in said if one not in (NOT_APPLICABLE, NOT_RUN)]
        if len(set(said)) < 2:
            return verdict
        counts = ", ".join(f"{one} with {said.count(one)}" for one in dict.fromkeys(said))
        reason = f"depends on the seed: {counts} of {len(said)} seeds"
        return replace(verdict, outcome=UNDECIDED, reason=reason)

    return tuple(map(settled, verdicts))

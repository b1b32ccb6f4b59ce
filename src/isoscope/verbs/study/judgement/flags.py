"""What a reader must know beside a verdict: on what it depends that the claim does not name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from isoscope.verbs.study.judgement.rows import point_range, row_key, sign_range, wide
from isoscope.verbs.study.judgement.scope import facts_of
from isoscope.verbs.study.judgement.verdicts import (
    CHOSEN,
    FLAGS,
    NORMS,
    QUANTISED,
    SELECTED,
    SIGNS,
    TOKENIZER,
    Verdict,
)

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row
    from isoscope.verbs.study.judgement.claims import Claim


def flags_of(
    claim: Claim,
    pairs: Iterable[tuple[Row, Row | None]],
    lookup: Mapping[tuple[str, ...], Row],
    blank: Verdict,
    result: Result,
) -> tuple[str, ...]:
    """Return what a reader must know beside the verdict on a claim."""
    found: set[str] = set()
    for left, right in pairs:
        rows = [row for row in (left, right) if row is not None]
        if any(row.extra.get(CHOSEN) for row in rows):
            found.add(SELECTED)
        if signs_matter(claim, left, right):
            found.add(SIGNS)
        if norms_matter(claim, left, right, lookup):
            found.add(NORMS)
    subjects = claim.meant(result) if claim.compares_models else [blank.subject]
    quantised = any(facts_of(result, name).quantisation != "none" for name in subjects)
    if quantised and claim.takes_weights:
        found.add(QUANTISED)
    if claim.counts_tokens and blank.other_models:
        found.add(TOKENIZER)
    return tuple(flag for flag in FLAGS if flag in found)


def signs_matter(claim: Claim, left: Row, right: Row | None) -> bool:
    """Whether the ranges over the signs of eigenvectors overlap, or hold the number."""
    one = sign_range(left)
    if right is not None:
        other = sign_range(right)
        # A side whose value does not depend on signs is a point.
        one, other = one or point_range(left), other or point_range(right)
        if one is None or other is None or not (wide(one) or wide(other)):
            return False
        return one[0] <= other[1] and other[0] <= one[1]
    ends = claim.right if isinstance(claim.right, tuple) else (claim.right,)
    logs = [math.log10(end) for end in ends if isinstance(end, float | int) and end > 0]
    return one is not None and any(one[0] < log < one[1] for log in logs)


def norms_matter(
    claim: Claim, left: Row, right: Row | None, lookup: Mapping[tuple[str, ...], Row]
) -> bool:
    """Whether I1 of vectors of the same size would compare the other way round."""
    rows = [row for row in (left, right) if row is not None]
    if any(row.measure != "i1" for row in rows):
        return False
    scaled = [lookup.get((*row_key(row)[:3], "i1_scaled")) for row in rows]
    if any(row is None for row in scaled):
        return False
    point = claim.compared(left, right)
    first, *rest = (row for row in scaled if row is not None)
    other = claim.compared(first, rest[0] if rest else None)
    return point is not None and other is not None and point != other

"""What ``isoscope correct`` says: lines about what was fitted, applied or refreshed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.merge import SKIPPED
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.data.rewrite import Written


# Dimensions that are named; of more only the number is told.
LISTED = 12

# What people read for every fact.
TITLES = {
    "clusters": "clusters",
    "directions_removed": "directions removed",
    "directions_removed_per_cluster": "directions removed from a cluster, at most",
    "directions_kept": "directions kept",
    "directions_dropped": "directions dropped, as they have no variance",
    "dimensions_zeroed": "dimensions set to zero",
}


# Said once, whatever the number of files.
NORMALIZED = (
    "the correction was fitted on vectors with norm 1, so the corrected ones are scaled to norm "
    "1; --keep-norms turns this off"
)
# Said when new vectors end what held for the old ones.
NO_LONGER_NORMALIZED = (
    "the old vectors had norm 1 and not all of the new ones have, so correct apply no longer "
    "scales corrected vectors to norm 1"
)


def as_line(name: str, fact: Any) -> str:
    """Write one fact as a line."""
    if isinstance(fact, list):
        shown = ", ".join(map(str, fact)) if len(fact) <= LISTED else f"{len(fact):,}"
        return f"{TITLES[name]}: {shown or 'none'}"
    return f"{TITLES[name]}: {fact:,}"


def left_out_lines(facts: dict[str, Any]) -> list[str]:
    """Say which rows and shards did not count."""
    return [
        f"left out, {why}: {f'{count:,}' if why == SKIPPED else counted(count, 'row')}"
        for why, count in facts["left_out"].items()
    ]


def apply_line(one: Written) -> str:
    """Say what became of one file."""
    note = ", recorded in its metadata" if one.marked else ""
    if one.without:
        note += f"; {counted(one.without, 'row')} without a vector (null), left as null"
    if one.zero_vectors:
        note += f"; {counted(one.zero_vectors, 'zero vector')}, left as zero"
    if one.other_norms:
        note += f"; {one.other_norms:,} did not have norm 1: normalise vectors before correcting"
    return f"{one.source} → {one.out}: {one.rows:,} rows of {one.width:,} dimensions{note}"

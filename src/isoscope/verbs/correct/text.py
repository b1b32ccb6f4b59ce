"""What ``isoscope correct`` says: lines about what was fitted, applied or refreshed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from isoscope.results.merge import SKIPPED
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.data.rewrite import Written
    from isoscope.verbs.correct.files import Applied


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
    "the correction was fitted on vectors with norm 1, so the corrected ones are brought to norm "
    "1; --keep-norms leaves their norms as they are"
)
# Said when new vectors end what held for the old ones.
NO_LONGER_NORMALIZED = (
    "the old vectors had norm 1 and not all of the new ones have, so correct apply no longer "
    "brings corrected vectors to norm 1"
)


def as_line(name: str, fact: Any) -> str:
    """Write one fact as a line."""
    if isinstance(fact, list):
        shown = ", ".join(map(str, fact)) if len(fact) <= LISTED else f"{len(fact):,}"
        return f"{TITLES[name]}: {shown or 'none'}"
    return f"{TITLES[name]}: {fact:,}"


def fit_lines(facts: dict[str, Any]) -> list[str]:
    """Say what was learned from what, or how many rows were added to what was known."""
    rows, before = facts["rows"], facts.get("rows_before")
    if before is None:
        width, new_width = facts["width"], facts["new_width"]
        becomes = "" if new_width == width else f", which become {new_width:,}"
        said = f" fitted on {rows:,} rows of {width:,} dimensions ({facts['dtype']}){becomes}"
    else:
        said = f": {before:,} rows before, {rows:,} with the new ones"
    lines = [
        facts["correction"] + said,
        *(as_line(name, fact) for name, fact in facts["learned"].items()),
        *left_out_lines(facts),
    ]
    if facts.get("unit_norm_before") and not facts["unit_norm"]:
        lines.append(NO_LONGER_NORMALIZED)
    cosine = facts.get("mean_cosine", {})
    if cosine.get("before") is not None and cosine["after"] is not None:
        lines.append(
            f"mean cosine of {cosine['rows']:,} rows: {cosine['before']:.4f} before, "
            f"{cosine['after']:.4f} after"
        )
    file = shlex.quote(str(facts["file"]))
    lines.append(f"written to {facts['file']}")
    return [*lines, f"Next: isoscope correct apply {file} VECTORS --out OUT"]


def left_out_lines(facts: dict[str, Any]) -> list[str]:
    """Say which rows and shards did not count."""
    counts = facts["left_out"].items()
    return [
        f"left out, {why}: {count:,}" + ("" if why == SKIPPED else " rows") for why, count in counts
    ]


def apply_lines(applied: Applied) -> list[str]:
    """Say what became of every file; warnings name those that were left out."""
    lines = [apply_line(one) for one in applied.written]
    if any(one.normalized for one in applied.written):
        lines.append(NORMALIZED)
    if applied.skipped:
        lines.append(f"left out, files that could not be read: {len(applied.skipped):,}")
    return lines


def apply_line(one: Written) -> str:
    """Say what became of one file."""
    note = ", noted in its metadata" if one.marked else ""
    if one.without:
        note += f"; {counted(one.without, 'row')} without a vector (null), left as null"
    if one.zero_vectors:
        note += f"; {counted(one.zero_vectors, 'zero vector')}, left as zero"
    if one.other_norms:
        note += f"; {one.other_norms:,} did not have norm 1: normalise vectors before correcting"
    return f"{one.source} → {one.out}: {one.rows:,} rows of {one.width:,} dimensions{note}"

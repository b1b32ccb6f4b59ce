"""What ``isoscope correct`` prints, for a program or for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoscope.cli.learned import as_line
from isoscope.cli.output import console, silence_stdout
from isoscope.results.scaled import SKIPPED

if TYPE_CHECKING:
    from isoscope.corrections.applying import Applied
    from isoscope.corrections.base import Correction
    from isoscope.data.rewrite import Written


def about(correction: Correction) -> dict[str, Any]:
    """Return what every fitted correction has."""
    seen = correction.fitted_on_
    return {
        "rows": seen.rows,
        "width": int(correction.n_features_in_),
        "new_width": correction._output_width,
        "dtype": seen.dtype,
        "fingerprint": correction.fingerprint,
    }


def show(facts: Any, lines: list[str], as_json: bool) -> None:
    """Print for a program or for a person, unless nobody listens any more."""
    if not as_json:
        screen = console()
        for line in lines:
            screen.print(line)
        return
    try:
        print(json.dumps(facts, indent=2, ensure_ascii=False), flush=True)
    except BrokenPipeError:
        silence_stdout()


def fit_lines(facts: dict[str, Any]) -> list[str]:
    """Say what was learned from what."""
    width, new_width = facts["width"], facts["new_width"]
    becomes = "" if new_width == width else f", which become {new_width:,}"
    lines = [
        f"{facts['correction']} fitted on {facts['rows']:,} rows of {width:,} dimensions"
        f" ({facts['dtype']}){becomes}",
        *(as_line(name, fact) for name, fact in facts["learned"].items()),
        *left_out_lines(facts),
    ]
    cosine = facts["mean_cosine"]
    if cosine["before"] is not None and cosine["after"] is not None:
        lines.append(
            f"mean cosine of {cosine['rows']:,} rows: {cosine['before']:.4f} before, "
            f"{cosine['after']:.4f} after"
        )
    return [*lines, f"written to {facts['file']}"]


def refresh_lines(facts: dict[str, Any]) -> list[str]:
    """Say how many rows there were and are."""
    before, after = facts["rows_before"], facts["rows"]
    return [
        f"{facts['correction']}: {before:,} rows before, {after:,} with the new ones",
        *(as_line(name, fact) for name, fact in facts["learned"].items()),
        *left_out_lines(facts),
        f"written to {facts['file']}",
    ]


def left_out_lines(facts: dict[str, Any]) -> list[str]:
    """Say which rows and shards did not count."""
    counts = facts["left_out"].items()
    return [
        f"left out, {why}: {count:,}" + ("" if why == SKIPPED else " rows") for why, count in counts
    ]


def apply_lines(applied: Applied) -> list[str]:
    """Say what became of every file; warnings name those that were left out."""
    lines = [apply_line(one) for one in applied.written]
    if applied.skipped:
        lines.append(f"left out, files that could not be read: {len(applied.skipped):,}")
    return lines


def apply_line(one: Written) -> str:
    """Say what became of one file."""
    note = ", noted in its metadata" if one.marked else ""
    if one.without:
        note += f"; {one.without:,} rows have no vector (NULL)"
    return f"{one.source} → {one.out}: {one.rows:,} rows of {one.width:,} dimensions{note}"

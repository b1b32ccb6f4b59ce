"""What ``isoscope correct`` shows: what was fitted on what, what it changes, what to run next."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from isoscope.data.location import is_postgres
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen, Text
from isoscope.results.screen.commands import quoted
from isoscope.verbs.correct.text import (
    NO_LONGER_NORMALIZED,
    NORMALIZED,
    apply_line,
    as_line,
    left_out_lines,
)
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.verbs.correct.files import Applied

# Files that are listed; of more their number is told.
MOST_FILES = 12
ON_APPLYING = (
    "the vectors have norm 1, so correct apply scales the corrected ones to norm 1; --keep-norms "
    "turns this off"
)


def fit_screen(facts: dict[str, Any], source: str) -> Screen:
    """Return the screen of a correction that was fitted, or took in new vectors.

    Parameters
    ----------
    facts : dict
        What ``fit_correction`` or ``refresh_correction`` returned.
    source : str
        The vectors that were read.
    """
    rows, before = facts["rows"], facts.get("rows_before")
    width, new_width = facts["width"], facts["new_width"]
    dimensions = f"{width:,}" if new_width == width else f"{width:,} → {new_width:,}"
    what = f"{rows:,} vectors × {dimensions} dimensions"
    title = " · ".join([facts["correction"], what, facts["dtype"]])
    table = change_table(facts)
    lines = [as_line(name, fact) for name, fact in facts["learned"].items()]
    learned: list[Block] = [Text(" ".join(f"{line[:1].upper()}{line[1:]}." for line in lines))]
    body: list[list[Block]] = [[table]] if table else []
    body += [learned] if lines else []
    notes = left_out_lines(facts)
    if facts.get("unit_norm_before") and not facts["unit_norm"]:
        notes.append(NO_LONGER_NORMALIZED)
    elif facts["unit_norm"]:
        notes.append(ON_APPLYING)
    file = str(facts["file"])
    # New vectors are a part of what is to be corrected.
    target = quoted(source) if before is None else "VECTORS"
    text = f"isoscope correct apply {quoted(file)} {target} --out {target_for(source, before)}"
    return Screen(
        title,
        [about_fit(facts)],
        body,
        [
            *(Fact("Note", f"{line[:1].upper()}{line[1:]}.") for line in notes),
            Fact("Wrote", file),
            Fact("Next", text, command=True),
        ],
    )


def about_fit(facts: dict[str, Any]) -> str:
    """Say what a correction does to the mean cosine, or how many vectors it was updated with."""
    before = facts.get("rows_before")
    if before is not None:
        more = facts["rows"] - before
        return (
            f"Updated with {counted(more, 'new vector')}: {before:,} before, {facts['rows']:,} "
            "now, with the same result as a fit on all of them."
        )
    cosine = facts.get("mean_cosine") or {}
    if cosine.get("before") is None or cosine.get("after") is None:
        return "The correction is fitted; too few vectors have a direction to compare."
    after, before = (with_digits(cosine[when], 2) for when in ("after", "before"))
    if after == before:
        return f"The mean cosine of random pairs stays {after}."
    return f"The mean cosine of random pairs is {after} after the correction, {before} before."


def with_digits(value: float, digits: int) -> str:
    """Write a number; adding zero turns −0 into 0."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def change_table(facts: dict[str, Any]) -> Numbers | None:
    """Arrange what the correction changes, on the vectors that it was fitted on."""
    rows = []
    titles = {"mean_cosine": "mean cosine of random pairs", "mean_norm": "mean norm"}
    for name, title in titles.items():
        figures = facts.get(name) or {}
        if figures.get("before") is not None and figures.get("after") is not None:
            rows.append([title, *(with_digits(figures[when], 4) for when in ("before", "after"))])
    if not rows:
        return None
    count = facts["mean_cosine"]["rows"]
    of = "" if count == facts["rows"] else f"of {count:,} of them"
    return Numbers([of, "before", "after"], rows)


def target_for(source: str, before: int | None) -> str:
    """Return a name for corrected vectors: a file like the source, or a folder for several."""
    suffix = "".join(PurePath(source).suffixes[-1:])
    if before is not None or is_postgres(source):
        return "OUT"
    if "*" in source or "{" in source or not suffix:
        return "corrected.npy" if source.startswith("package:") else "corrected"
    return f"corrected{suffix if suffix != '.faiss' else '.npy'}"


def apply_screen(applied: Applied, correction: str) -> Screen:
    """Return the screen of files that were corrected; warnings name those that were left out."""
    written = applied.written
    rows = sum(one.rows for one in written)
    lines = [apply_line(one) for one in written]
    shown = lines if len(lines) <= MOST_FILES else lines[: MOST_FILES - 1]
    body: list[list[Block]] = [[Text(line) for line in shown]] if shown else []
    if len(shown) < len(lines):
        body[0].append(Text(f"… {counted(len(lines) - len(shown), 'more file')}, all with --json"))
    notes = [NORMALIZED] if any(one.normalized for one in written) else []
    if applied.skipped:
        notes.append(f"left out, files that could not be read: {len(applied.skipped):,}")
    facts = [Fact("Note", f"{line[:1].upper()}{line[1:]}.") for line in notes]
    if len(written) == 1:
        text = f"isoscope measure {quoted(written[0].out)}"
        facts.append(Fact("Next", text, "how evenly is it filled now?", command=True))
    place = "table" if any(is_postgres(str(one.out)) for one in written) else "file"
    said = f"{counted(rows, 'vector')} corrected in {counted(len(written), place)}."
    return Screen(f"{correction} · applied", [said], body, facts)

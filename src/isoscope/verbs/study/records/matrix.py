"""Claims by models: what became of each, as a table and as a picture.

The picture is written as SVG by hand: coloured cells with a letter in each, so that nobody needs to
tell colours apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from isoscope.results.render import Markdown
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.scope import facts_of
from isoscope.verbs.study.judgement.verdicts import (
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    NOT_RUN,
    OUTCOMES,
    REVERSED,
    UNDECIDED,
    Verdict,
)
from isoscope.verbs.study.records.complete import transformers
from isoscope.verbs.study.reference import catalogue

if TYPE_CHECKING:
    from isoscope.verbs.study.api import StudyRun

# Column of what isoscope trains itself, whatever a study calls it, and of a toy's numbers.
OWN = "own trainings"

# What different models of one column give.
MIXED = "mixed"

# What stands in a cell: in the table, and with its colour in the picture (Okabe & Ito's, which
# people with any colour vision tell apart).
SHORT = {NOT_APPLICABLE: "–"}
LETTERS = {
    HOLDS: ("H", "#0072b2", "#ffffff"),
    FAILS: ("F", "#e69f00", "#000000"),
    REVERSED: ("R", "#d55e00", "#ffffff"),
    UNDECIDED: ("?", "#f0e442", "#000000"),
    NOT_APPLICABLE: ("–", "#f4f4f4", "#999999"),
    NOT_RUN: ("·", "#d0d0d0", "#555555"),
    MIXED: ("M", "#cc79a7", "#000000"),
}


@dataclass(frozen=True)
class ClaimLine:
    """A claim with what became of it in every column."""

    study: str
    text: str
    cells: dict[str, list[Verdict]]

    def outcome(self, column: str) -> str:
        """Return the outcome in a column; empty where the claim has none there."""
        found = [one.outcome for one in self.cells.get(column, [])]
        judged = [one for one in found if one not in (NOT_APPLICABLE, NOT_RUN)] or found
        return "" if not judged else judged[0] if len(set(judged)) == 1 else MIXED

    def shown(self, column: str) -> str:
        """Return the cell of a table, with a star where flags stand beside the verdict."""
        outcome = self.outcome(column)
        flagged = any(one.flags and one.is_decided for one in self.cells.get(column, []))
        return SHORT.get(outcome, outcome) + "*" * flagged

    @property
    def concerns(self) -> bool:
        """Whether it is about any of the models."""
        return any(one.outcome != NOT_APPLICABLE for found in self.cells.values() for one in found)

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts."""
        return [one for found in self.cells.values() for one in found]


def columns_of(runs: Sequence[StudyRun]) -> list[str]:
    """Return the models, then own trainings, then figures over all models."""
    there = {column_of(run, one) for run in runs for one in run.verdicts}
    models = [*transformers(runs)]
    vectors = sorted(there - {*models, OWN, ALL_MODELS}, key=str.casefold)
    return [name for name in (*models, *vectors, OWN, ALL_MODELS) if name in there]


def column_of(run: StudyRun, verdict: Verdict) -> str:
    """Return the column of a verdict."""
    if verdict.subject == ALL_MODELS:
        return ALL_MODELS
    facts = facts_of(run.result, verdict.subject)
    known = verdict.subject in run.result.extra.get("facts", {})
    if facts.kind == "made" or not known:
        return OWN
    return verdict.subject


def claim_lines(runs: Sequence[StudyRun]) -> list[ClaimLine]:
    """Return every claim, study by study."""
    found = []
    for run in runs:
        for text, own in grouped(run.verdicts, lambda one: one.text).items():
            cells = grouped(own, lambda one, run=run: column_of(run, one))  # type: ignore[misc]
            found.append(ClaimLine(run.study.id, text, cells))
    return found


def matrix_table(lines: Sequence[ClaimLine], columns: Sequence[str]) -> list[list[str]]:
    """Return claims down and models across."""
    body = [
        [Markdown(f"[{line.study}](studies/{line.study}.md)"), line.text, *map(line.shown, columns)]
        for line in lines
    ]
    return [["study", "claim", *columns], *body]


# Sizes of the picture in pixels: lines, cells, the names of studies and the texts of claims.
LINE, CELL, IDS, TEXTS, HEAD, MARGIN = 17, 44, 58, 520, 96, 12
LONGEST = 88
STYLE = "font-family: Helvetica, Arial, sans-serif; font-size: 11px"


def matrix_picture(lines: Sequence[ClaimLine], columns: Sequence[str]) -> str:
    """Return the matrix as SVG, paper by paper."""
    papers = grouped(lines, lambda line: line.study[0])
    left = MARGIN + IDS + TEXTS
    width = left + CELL * len(columns) + HEAD + MARGIN
    parts, y = header(columns, left), MARGIN + HEAD
    for letter, own in papers.items():
        y += LINE
        document = catalogue()["papers"][letter]["document"]
        parts.append(text(MARGIN, y, document, "font-weight: bold; font-size: 12px"))
        y += 5
        for line in own:
            parts += drawn_line(line, columns, left, y)
            y += LINE
        y += 6
    parts += legend(y + LINE)
    height = y + 3 * LINE + MARGIN
    about = f"{len(lines)} claims by {len(columns)} columns of models, coloured by outcome"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{about}" style="{STYLE}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def header(columns: Sequence[str], left: int) -> list[str]:
    """Return the names of the columns, slanted."""
    bottom = MARGIN + HEAD
    return [
        f'<text transform="translate({left + CELL * k + CELL // 2 - 4},{bottom}) rotate(-35)">'
        f"{escape(name)}</text>"
        for k, name in enumerate(columns)
    ]


def drawn_line(line: ClaimLine, columns: Sequence[str], left: int, y: int) -> list[str]:
    """Return one claim: its study, its text, a cell for every column."""
    short = line.text if len(line.text) <= LONGEST else f"{line.text[: LONGEST - 1].rstrip()}…"
    base = y + LINE - 5
    found = [text(MARGIN, base, line.study, "fill: #555555"), text(MARGIN + IDS, base, short)]
    for k, column in enumerate(columns):
        outcome = line.outcome(column)
        if outcome:
            found += cell(left + CELL * k, y, outcome, line.shown(column).endswith("*"))
    return found


def cell(x: int, y: int, outcome: str, flagged: bool) -> list[str]:
    """Return a coloured cell with its letter."""
    letter, colour, ink = LETTERS[outcome]
    star = "*" if flagged else ""
    return [
        f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{LINE - 2}" fill="{colour}">'
        f"<title>{outcome}</title></rect>",
        f'<text x="{x + CELL // 2 - 1}" y="{y + LINE - 5}" text-anchor="middle" fill="{ink}">'
        f"{letter}{star}</text>",
    ]


def legend(y: int) -> list[str]:
    """Return what letters and colours mean."""
    found, x = [], MARGIN
    for outcome in (*OUTCOMES, MIXED):
        found += cell(x, y - LINE + 5, outcome, flagged=False)
        found.append(text(x + CELL + 4, y, outcome))
        x += CELL + 22 + 7 * len(outcome)
    return [*found, text(MARGIN, y + LINE, "* with a flag, see the text")]


def text(x: int, y: int, words: str, style: str = "") -> str:
    """Return a line of text."""
    how = f' style="{style}"' if style else ""
    return f'<text x="{x}" y="{y}"{how}>{escape(words)}</text>'

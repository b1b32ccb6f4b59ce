"""What a terminal shows of several results: what they say, their main numbers, and what is next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from isoscope.measures.titles import title_of
from isoscope.results.headline import CARRYING, headline
from isoscope.results.result import Result
from isoscope.results.screen.blocks import Fact, Numbers, Screen
from isoscope.results.screen.diagnoses import without_limits
from isoscope.verbs.report.summary_table import Column, Pivot, shown, told
from isoscope.wording import counted

MOST_NUMBERS = 8
MOST_SENTENCES = 3
DIGITS = 3

# Of one result, after the measures that carry a verdict.
BESIDE = ("cosine_quantiles/99%", "i1")


def report_screen(
    results: Sequence[Result], table: Pivot, files: Sequence[str], *, chosen: bool = False
) -> Screen:
    """Return the screen of some results.

    Parameters
    ----------
    results : sequence of Result
        What was loaded.
    table : Pivot
        Their numbers.
    files : sequence of str
        Where they came from.
    chosen : bool
        Whether somebody chose the columns: then all of them are shown.
    """
    opening = headline(results)
    keys = [", ".join(filter(None, key)) or opening.title for key in told(table)[1]]
    columns = list(table.columns) if chosen else main_columns(table)
    body = [[key, *(cell_of(table, k, one) for one in columns)] for k, key in enumerate(keys)]
    heads = [heading(one, table) for one in columns]
    if len(body) == 1:
        numbers = Numbers(
            ["", keys[0]], [[head, cell] for head, cell in zip(heads, body[0][1:], strict=True)]
        )
    else:
        numbers = Numbers([" and ".join(told(table)[0]), *heads], body)
    more = len(opening.sentences) - MOST_SENTENCES
    answer = [without_limits(one) for one in opening.sentences[:MOST_SENTENCES]]
    answer += [f"{counted(more, 'more verdict')} with --html."] if more > 0 else []
    source = " ".join(shlex.quote(file) for file in files)
    rest = len(table.columns) - len(columns)
    table_of = "all columns" if rest else "the table"
    facts = [
        Fact("Next", f"isoscope report {source} --html report.html", "a page with pictures",
             command=True),
        Fact("More", f"--format markdown  {table_of}     --format csv  all digits"),
    ]  # fmt: skip
    title = " · ".join([counted(len(results), "result"), opening.title])
    return Screen(title, answer, [[numbers]], facts)


def main_columns(table: Pivot) -> list[Column]:
    """Return the columns that tell most, and then the first ones, as many as a screen shows."""
    most = MOST_NUMBERS if len(table.lines) == 1 else MOST_NUMBERS // 2
    known = list(table.columns)
    wanted = [one for name in (*CARRYING, *BESIDE) for one in known if one.measure == name]
    wanted += [one for one in known if one not in wanted]
    return wanted[:most]


def cell_of(table: Pivot, line: int, column: Column) -> str:
    """Return a number of a line."""
    return shown(table.lines[line][1][table.columns.index(column)], DIGITS)


def heading(column: Column, table: Pivot) -> str:
    """Return what people call a measure, and after which correction."""
    name = title_of(column.measure)
    plain = column.is_plain and not table.several_corrections
    return name if plain else f"{name} ({column.correction})"

"""What a command shows: progress while it works, then the result as tables, JSON and pictures.

All commands import this module, also those that are called wrongly: what only a run or a result
needs is imported by the functions that need it.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from isoscope.cli.deadline import deadline
from isoscope.cli.options import Limits, Pictures, Shown, Watch
from isoscope.cli.streams import (
    command_line,
    console,
    error_console,
    indented,
    plain_warnings,
    print_text,
)
from isoscope.compute.memory import limited
from isoscope.registry import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from isoscope.progress import Progress
    from isoscope.results.line import Line
    from isoscope.results.result import Result
    from isoscope.results.screen.blocks import Screen
    from isoscope.results.tables import Grid


@contextmanager
def running(watch: Watch | None = None, unit: str = "rows") -> Iterator[dict[str, Any]]:
    """Show warnings and progress while a verb works; gives out the arguments all verbs take."""
    with watching(watch or Watch(), unit) as report:
        yield {"progress": report, "command": command_line()}


@contextmanager
def within(limits: Limits) -> Iterator[None]:
    """Hold what runs inside to a size and a time, where it shows no progress."""
    with deadline(limits.timeout), limited(limits.max_memory):
        yield


@contextmanager
def watching(watch: Watch, unit: str = "rows") -> Iterator[Progress | None]:
    """Show warnings and progress on standard error for a while."""
    from isoscope.cli.progress import progress_bar

    with (
        deadline(watch.timeout) as end,
        limited(watch.max_memory),
        plain_warnings(quiet=watch.quiet),
        progress_bar(error_console(), unit, quiet=watch.quiet, mode=watch.progress) as report,
    ):
        yield report if end is None else end.reports(report)


def announcer(watch: Watch) -> Callable[[str], None] | None:
    """Return what says what a long run will need before it starts; nothing says it if quiet."""
    if watch.quiet:
        return None
    return partial(error_console().print, style="dim", soft_wrap=True)


def give(result: Result, shown: Shown, out: Path | None = None) -> None:
    """Write the result where it is wanted, and print it as JSON or for a person."""
    if out is not None:
        result.save(out)
    draw([result], shown.pictures)
    if shown.as_json:
        print_text(result.to_json())
    else:
        show(result, console(), details=shown.details, plain=shown.ascii)


def draw(results: Sequence[Result], pictures: Pictures) -> None:
    """Write the page and the pictures."""
    for name, place in (("save_page", pictures.html), ("save_figures", pictures.figures)):
        if place is not None:
            load(f"isoscope.verbs.report.pictures:{name}")(results, place)


# A correction's name is folded behind a hyphen or colon where a line would get longer.
LONGEST_HEADER = 10


def show(result: Result, screen: Console, *, details: bool = False, plain: bool = False) -> None:
    """Print the result for a person: the answer first, or with ``details`` everything."""
    from isoscope.results.kinds import screen_of

    found = None if details else screen_of(result)
    if found is None:
        show_details(result, screen)
    else:
        print_screen(found, screen, plain=plain)


def print_screen(found: Screen, screen: Console, *, plain: bool = False) -> None:
    """Print a screen in as many columns as the terminal has; in ASCII where it has nothing else."""
    from isoscope.results.screen.layout import lay_out

    plain = plain or not can_draw(screen)
    for line in lay_out(found, screen.width, plain=plain):
        screen.print(line.text, style=line.style, soft_wrap=True)


def can_draw(screen: Console) -> bool:
    """Whether a terminal has more than ASCII."""
    try:
        "█│±".encode(screen.encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def show_details(result: Result, screen: Console) -> None:
    """Print all tables, verdicts and notes of a result."""
    from isoscope.results.kinds import grids
    from isoscope.results.tables import previews

    for one in grids(result):
        screen.print(one.title, style="italic")
        show_grid(one, screen, no_wrap=True)
        for line in one.verdict:
            screen.print(line, style="bold" if line.startswith("Verdict") else "")
        for note in one.notes:
            screen.print(note, style="dim")
    # The first rows of the structured measures that tell most.
    for one in previews(result):
        screen.print(f"{one.title}, all with --json" if one.rows else one.title, style="italic")
        show_grid(one, screen, first="right", min_width=9)


def print_lines(lines: Iterable[Line | list[list[str]]]) -> None:
    """Print lines for people as they come; a list of lists is a table."""
    screen = console()
    for line in lines:
        if isinstance(line, list):
            show_table(line, screen)
        elif line.indented:
            indented(screen, line.text, line.style)
        else:
            screen.print(line.text, style=line.style)


def show_table(table: list[list[str]], screen: Console) -> None:
    """Print a table whose first line is its header; names of columns are not folded."""
    from isoscope.results.tables import Grid

    show_grid(Grid("", table[0], table[1:], [], []), screen, head=str)


def show_grid(
    grid: Grid,
    screen: Console,
    *,
    head: Callable[[str], str] | None = None,
    first: Literal["left", "right"] = "left",
    no_wrap: bool = False,
    min_width: int = 0,
) -> None:
    """Print a grid as a table, cut into several where it is wider than the screen.

    Parameters
    ----------
    grid : Grid
        What is printed.
    screen : Console
        Where to.
    head : callable, optional
        Writes the name of a column; by default in lines that are not long.
    first : {"left", "right"}
        Where the first column is justified; the others are to the right.
    no_wrap : bool
        Whether the first column stays on one line.
    min_width : int
        Least width of a column.
    """
    from rich.table import Table

    for header, rows in fitting(grid, screen.width, min_width):
        table = Table()
        for k, name in enumerate(header):
            table.add_column(
                (head or folded)(name), justify="right" if k else first, overflow="fold",
                no_wrap=no_wrap and k == 0, min_width=min_width or None,
            )  # fmt: skip
        for row in rows:
            table.add_row(*row)
        screen.print(table)


def folded(name: str) -> str:
    """Break a long name into lines."""
    lines = [""]
    for piece in re.split(r"(?<=[-:_/ ])", name):
        if lines[-1] and len(lines[-1]) + len(piece) > LONGEST_HEADER:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def fitting(one: Grid, width: int, min_width: int = 0) -> list[tuple[list[str], list[list[str]]]]:
    """Cut a grid into tables that fit a screen of this width, each with the names in front."""
    if not one.rows:
        return []
    names = max(min_width, *(len(row[0]) for row in one.rows)) + 4
    widths = [max(len(row[k]) for row in one.rows) for k in range(1, len(one.header))]
    taken = [
        max(min_width, cells, *(len(line) for line in folded(head).splitlines())) + 3
        for cells, head in zip(widths, one.header[1:], strict=True)
    ]
    tables: list[list[int]] = [[]]
    for k, columns in enumerate(taken, start=1):
        used = names + sum(taken[c - 1] for c in tables[-1])
        if tables[-1] and used + columns > width:
            tables.append([])
        tables[-1].append(k)
    return [
        ([one.header[0], *(one.header[k] for k in chosen)],
         [[row[0], *(row[k] for k in chosen)] for row in one.rows])
        for chosen in tables
    ]  # fmt: skip

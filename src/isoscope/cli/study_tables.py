"""Studies on a screen: tables, claims, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table

from isoscope.cli.measure import fitting
from isoscope.results.render import Grid
from isoscope.studies.render import DESCRIPTIVE, case_lines, figures, study_notes, verdict_line

if TYPE_CHECKING:
    from rich.console import Console

    from isoscope.studies import StudyRun, Verdict

OUTCOME_STYLES = {"holds": "green", "fails": "red", "cannot be judged": "yellow"}


def show_run(run: StudyRun, screen: Console) -> None:
    """Print figures, remarks and claims."""
    screen.print(f"{run.study.id}  {run.study.title}", style="bold")
    screen.print(run.study.paper)
    show_table(figures(run.result), screen)
    for remark in study_notes(run.study, run.result):
        screen.print(remark, style="dim")
    for verdict in run.verdicts:
        screen.print(verdict_line(verdict), style=OUTCOME_STYLES[verdict.outcome])
        for line in case_lines(verdict):
            indented(screen, line)
    if not run.verdicts:
        screen.print(DESCRIPTIVE)


def show_table(table: list[list[str]], screen: Console) -> None:
    """Print a table, cut where it is wider than the screen."""
    whole = Grid("", table[0], table[1:], [], [])
    for header, rows in fitting(whole, screen.width):
        shown = Table()
        for k, name in enumerate(header):
            shown.add_column(name, justify="right" if k else "left", overflow="fold")
        for row in rows:
            shown.add_row(*row)
        screen.print(shown)


def show_outcome(verdict: Verdict, screen: Console) -> None:
    """Print a claim in a line, with what became of it."""
    said = f"{verdict.outcome}: {verdict.text} ({verdict.reason})"
    indented(screen, said, style=OUTCOME_STYLES[verdict.outcome])


def indented(screen: Console, text: str, style: str = "") -> None:
    """Print text with room before it."""
    screen.print(Padding(text, (0, 0, 0, 4), expand=False), style=style)

"""A progress bar on standard error for work that takes longer than a second."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.measures.reading import Progress as Report

COUNTED = ("checkpoints", "texts")
"""Stages whose names say what they count."""

PATIENCE = 1.0
"""Seconds before a bar appears: short work needs none."""


@contextmanager
def progress_bar(console: Console | None = None, unit: str = "rows") -> Iterator[Report | None]:
    """Give out a callback that draws a bar, or None where nobody would see it.

    Stages count ``unit``, but for those that are called after what they count.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    tasks: dict[str, TaskID] = {}
    started = time.monotonic()

    def report(stage: str, done: int, total: int | None) -> None:
        if time.monotonic() - started < PATIENCE:
            return
        if not tasks:
            bar.start()
        if stage not in tasks:
            tasks[stage] = bar.add_task(stage, total=total, rows="")
        counted = "" if stage in COUNTED else f" {unit}"
        rows = f"{done:,}{counted}" if total is None else f"{done:,} of {total:,}{counted}"
        bar.update(tasks[stage], completed=done, rows=rows)

    try:
        yield report
    finally:
        bar.stop()

"""The numbers that papers print, as CSV, and what they misprint."""

from __future__ import annotations

import csv
from importlib import resources


def printed_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a paper's table by the name of its file, cells as they are printed."""
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def misprints(study: str) -> list[dict[str, str]]:
    """Return what is known to be misprinted in the table of a study."""
    return [row for row in printed_table("misprints") if row["study"] == study]

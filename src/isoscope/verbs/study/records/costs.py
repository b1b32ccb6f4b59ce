"""What studies took: seconds and memory, as records of this project measured them.

`costs.csv` is made from the records by ``docs/make_studies.py``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

from isoscope.verbs.study.records.provenance import MADE

if TYPE_CHECKING:
    from isoscope.verbs.study.api import StudyRun
    from isoscope.verbs.study.registry import Study

TABLE = "costs.csv"
# Takes finished runs instead of training.
FROM = "--from "

COLUMNS = ("study", "model", "seconds", "memory", "machine")


def measured_costs(study: str) -> list[dict[str, str]]:
    """Return what a study took on each of some models."""
    text = resources.files(__package__).joinpath(TABLE).read_text("utf-8")
    return [line for line in csv.DictReader(text.splitlines()) if line["study"] == study]


def cost_lines(study: Study) -> list[str]:
    """Say what a study took."""
    found = measured_costs(study.id)
    if not found:
        return ["time and memory: not measured yet"]
    return [
        f"took {in_words(float(line['seconds']))}"
        + (f" and {line['memory']} GiB" if line["memory"] else "")
        + f" on {line['model']} ({line['machine']})"
        for line in found
    ]


def in_words(seconds: float) -> str:
    """Return a time in the unit that fits.

    Examples
    --------
    >>> in_words(4.2), in_words(150), in_words(9000)
    ('4 s', '2.5 min', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def costs_table(runs: Iterable[StudyRun]) -> str:
    """Return the table of costs of records, as CSV."""
    lines = [",".join(COLUMNS)]
    for run in runs:
        for name, made in run.result.extra.get(MADE, {}).items():
            # Finished trainings that were only read say nothing about what a training takes.
            if "seconds" in made and FROM not in str(made.get("command", "")):
                lines.append(line_of(run.study.id, name, made))
    return "\n".join(lines) + "\n"


def line_of(study: str, name: str, made: dict[str, Any]) -> str:
    """Return a line of the table; names and machines may hold commas.

    Where less processor time passed than time, other work on the machine had the cores meanwhile,
    and the processor time is nearer to what the study takes on its own.
    """
    seconds = min(made["seconds"], made.get("processor", made["seconds"]))
    cells = [study, name, seconds, made.get("memory", ""), made.get("machine", "")]
    return ",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in cells)

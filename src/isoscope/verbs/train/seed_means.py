"""What all experiments of training share: runs that a journal keeps, and means over their seeds."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isoscope.compute.journal import Journal
from isoscope.compute.stats.significance import sample_of
from isoscope.models.runtime import library
from isoscope.results.fields import KIND, UNIT
from isoscope.results.result import Result, Row, versions


@contextmanager
def working_folder(journal: str | Path | None) -> Iterator[Path]:
    """Give out a folder for checkpoints: beside the journal, where they outlive a killed run.

    Without a journal, it is a temporary one.
    """
    if journal is None:
        with tempfile.TemporaryDirectory(prefix="isoscope-") as name:
            yield Path(name)
        return
    folder = Path(journal).with_suffix(".checkpoints")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    # A model made for this run is made again from the same texts; other folders hold checkpoints.
    for made in folder.glob("made-*"):
        shutil.rmtree(made, ignore_errors=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def run_once(
    journal: Journal | None, name: str, run: Callable[[], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Return what a journal has of a run, or else carry it out and keep what it came to."""
    finished = None if journal is None else journal.load(name)
    if finished is not None:
        return finished.facts
    facts = run()
    if journal is not None:
        journal.save(name, {}, facts)
    return facts


def runs_result(kind: str, rows: list[Row], seeds: int, command: str, **extra: Any) -> Result:
    """Return the rows of an experiment with seeds 0, 1, 2, … as a result."""
    about, counts = {KIND: kind, **extra}, {"seed": 0, "runs": seeds}
    return Result(rows, seeds=counts, versions=versions_of_training(), command=command, extra=about)


def write_result(
    result: Result, out: str | Path | None, save: Callable[[Result], None] | None
) -> None:
    """Write the result of an experiment while its journal is still there."""
    if save is not None:
        save(result)
    if out is not None:
        result.save(out)


def mean_row(
    where: tuple[str, str, str],
    measure: str,
    values: Sequence[float | None],
    protocol: str,
    note: str = "",
    **extra: Any,
) -> Row:
    """Return the mean of the runs that have a value; a deviation takes two of them."""
    there = known(values)
    found = sample_of(there) if there else None
    mean = None if found is None else found.mean
    deviation = None if found is None or found.runs < 2 else found.deviation
    about = {"sd": deviation, "runs": list(values), "unit": UNIT, **extra}
    return Row.of(mean, *where, measure, n=len(values), protocol=protocol, note=note, extra=about)


def known(values: Sequence[float | None]) -> list[float]:
    """Return what is defined."""
    return [value for value in values if value is not None]


def versions_of_training() -> dict[str, str]:
    """Return the versions that numbers of a training depend on."""
    libraries = {name: library(name).__version__ for name in ("torch", "transformers")}
    return {**versions(), **libraries}

"""``isoscope measure``: how evenly a cloud of vectors fills its space.

With ``--fail-if`` a measurement is a gate in a build.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, print_screen, running
from isoscope.cli.streams import error_console
from isoscope.corrections.registry import parse_corrections
from isoscope.errors import DataError, UsageError
from isoscope.measures.registry import default_measures, find_measure
from isoscope.results.kinds import screen_of
from isoscope.wording import listed

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """Examples:

isoscope measure package:glove

isoscope measure package:glove --corrections none,center --json

isoscope measure model.safetensors --column embed.weight --fail-if "mean_cosine>0.6"
"""


@dataclass(frozen=True, kw_only=True)
class Search(options.Options):
    """What is said of a search, beside the measures."""

    neighbours: bool = options.flag(
        "Also measure what each correction does to a search: neighbours kept, hubness, recall of "
        "HNSW, IVF, int8 and binary codes."
    )
    reduce: str | None = options.option(
        None,
        "Also measure what shorter vectors keep, such as 64,128: truncated, principal or whitened, "
        "in float32, int8 and binary.",
        metavar="M,M,…",
    )
    pairs: Path | None = options.option(
        None, "With --reduce: labelled pairs of rows (row1, row2, score)."
    )
    of_queries: options.Queries
    neighbour_sample: int = options.option(
        10_000, "Rows sampled for --neighbours and --reduce.", min=2
    )
    k: int = options.option(10, "Neighbours for --neighbours and --reduce.", min=1)


@dataclass(frozen=True, kw_only=True)
class Gates(options.Showing):
    """Conditions on the numbers, for a build."""

    fail_if: list[str] | None = options.option(
        None,
        "Exit with code 3 if the condition is true: 'mean_cosine>0.6', 'i1@center<0.5'. May be "
        "repeated.",
        metavar="CONDITION",
    )


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(options.Options):
    """What ``isoscope measure`` takes."""

    cloud: str = options.argument(
        "source",
        ".npy .npz .safetensors .parquet .feather .txt .vec .bin .fvecs .jsonl .faiss (text also "
        ".gz or .zst), a pattern such as 'part-*.parquet' or 'layer_{layer}.npy', an fsspec "
        "address, a PostgreSQL table ('postgresql://host/database?table=…&column=…'), "
        "package:glove or package:minilm",
    )
    measures: str | None = options.option(
        None,
        "Comma-separated names, or all; see: isoscope list measures. Default: those that two "
        "reads give.",
    )
    corrections: str = options.option(
        "none,center,all-but-the-top,whiten",
        "Comma-separated spaces to measure; see: isoscope list corrections.",
    )
    column: options.Column = None
    output: options.Output
    precision: Literal["data", "double"] = options.option("data", "Precision of projections.")
    drop_invalid: options.DropInvalid = False
    gates: Gates
    documents: str | None = options.option(
        None,
        "Column that names the document of each row, for intervals.",
        metavar="LABEL",
    )
    intervals: bool | None = options.option(
        None,
        "Compute 95 % intervals. Default: except for whole vocabularies.",
        "--intervals/--no-intervals",
    )
    sample: int | None = options.option(None, "Measure a random sample of this many rows.", min=2)
    exact: bool = options.flag(
        "Look for neighbours and clusters (hubness, intrinsic_dimension, local_i1) in all rows "
        "instead of a sample."
    )
    search: Search
    seed: options.Seed = 0
    scale: options.Scale
    resume: options.Resume = False
    watch: options.Watch
    debug: options.Debug = False


@options.command
def measure_command(given: MeasureOptions) -> None:
    """Measure how evenly a cloud of vectors fills its space, and what corrections would change."""
    gates = read_gates(given.gates.fail_if or [], given.corrections)
    asked = given.arguments() | {"measures": with_gates(given.measures, gates)}
    screen = error_console()
    early = screen.is_terminal and not given.watch.quiet
    with running(given.watch) as run:
        result = isoscope.measure(
            **asked,
            **run,
            projections=given.output.pictures.wanted,
            out=given.output.out,
            provisional=partial(show_provisional, screen) if early else None,
        )
    give(result, given.output)
    lines = [line for gate in gates for line in gate.tripped_by(result)]
    for line in lines:
        print(f"isoscope: failed: {line}", file=sys.stderr)
    if lines:
        raise typer.Exit(3)


def show_provisional(screen: Console, result: isoscope.Result) -> None:
    """Print what a sample says while the whole is still read: the diagnosis without its numbers."""
    screen.print("Provisional, from a random sample; the full answer follows.", style="bold")
    found = screen_of(result)
    if found is not None:
        print_screen(replace(found, body=[], facts=[]), screen)


OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
PATTERN = re.compile(
    r"\s*([A-Za-z0-9_]+)(/\d+%)?\s*(?:@\s*([^<>=\s][^<>]*?))?\s*(>=|<=|>|<)\s*(\S+)\s*"
)


@dataclass(frozen=True)
class Gate:
    """A condition that fails the run when it is true."""

    text: str
    measure: str
    correction: str
    operator: str
    bound: float

    def tripped_by(self, result: isoscope.Result) -> list[str]:
        """Return a line for every cloud for which the condition is true."""
        lines = []
        if not any(row.measure == self.measure for row in result.rows):
            raise UsageError(f"--fail-if {self.text!r}: {self.measure} is not one number")
        for row in result.rows:
            if (row.measure, row.correction) != (self.measure, self.correction):
                continue
            if row.value is None:
                raise DataError(f"--fail-if {self.text!r} cannot be judged: {row.note}")
            if OPERATORS[self.operator](row.value, self.bound):
                where = " ".join(word for word in (row.subject, row.part) if word)
                lines.append(
                    f"{where}: {self.measure} ({self.correction}) is {row.value:.6g}, "
                    f"which is {self.operator} {self.bound:g}"
                )
        return lines


def read_gates(texts: Sequence[str], corrections: str) -> list[Gate]:
    """Read conditions; one on a space that is not measured is refused."""
    gates = [parse_gate(text) for text in texts]
    spaces = [correction.text for correction in parse_corrections(listed(corrections, ()))]
    for gate in gates:
        if gate.correction not in spaces:
            raise UsageError(
                f"--fail-if {gate.text!r} looks at {gate.correction}, which is not measured; "
                f"--corrections has {', '.join(spaces)}"
            )
    return gates


def with_gates(measures: str | None, gates: Sequence[Gate]) -> list[str]:
    """Return the names of the measures that are asked for, and of those that conditions need."""
    names = listed(measures, [item.name for item in default_measures()])
    return names + [gate.measure.split("/")[0] for gate in gates]


def parse_gate(text: str) -> Gate:
    """Take ``mean_cosine>0.6`` or ``mean_cosine@center>0.1`` apart."""
    match = PATTERN.fullmatch(text)
    bound = None
    if match:
        try:
            bound = float(match[5])
        except ValueError:
            bound = None
    if match is None or bound is None or bound != bound:
        raise UsageError(
            f"--fail-if {text!r}: write MEASURE[@CORRECTION], one of > >= < <=, and a number, "
            "for example 'mean_cosine>0.6' or 'mean_cosine@center>0.1'"
        )
    measure = find_measure(match[1])
    if measure.table:
        raise UsageError(f"--fail-if {text!r}: {measure.name} is a table, not a number")
    name = measure.name + (match[2] or "")
    return Gate(text, name, (match[3] or "none").strip(), match[4], bound)

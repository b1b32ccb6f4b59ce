"""``isoscope measure``: how evenly a cloud of vectors fills its space."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.contents import check_corrections, check_measures
from isoscope.cli.output import give, print_screen, running
from isoscope.cli.streams import error_console
from isoscope.data.formats.registry import check_source

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
        "Also measure vectors shortened to these dimensions, such as 64,128: truncated, "
        "principal components or whitened, in float32, int8 and binary.",
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
        "Comma-separated names, or all; see: isoscope list measures. Default: those that need at "
        "most two reads of the data.",
    )
    corrections: str = options.option(
        "none,center,all-but-the-top,whiten",
        "Comma-separated corrections (none: as is); see: isoscope list corrections.",
    )
    column: options.Column = None
    output: options.Output
    precision: Literal["data", "double"] = options.option(
        "data", "Precision of projections: that of the data, or double."
    )
    drop_invalid: options.DropInvalid = False
    gates: Gates
    documents: str | None = options.option(
        None,
        "Column that names the document of each row, for intervals.",
        metavar="LABEL",
    )
    intervals: bool | None = options.option(
        None,
        "Compute 95 % intervals. Default: yes, except for whole vocabularies.",
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

    def __post_init__(self) -> None:
        """Refuse names of what does not exist, before numpy is imported."""
        check_measures(self.measures)
        check_corrections(self.corrections)
        check_source(self.cloud)


@options.command
def measure_command(given: MeasureOptions) -> None:
    """Measure how evenly a cloud of vectors fills its space, and what corrections would change."""
    # Which needs numpy, and the help does not.
    from isoscope.verbs.measure.gates import read_gates, with_gates

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
    from isoscope.results.kinds import screen_of

    screen.print("Provisional, from a random sample; the full answer follows.", style="bold")
    found = screen_of(result)
    if found is not None:
        print_screen(replace(found, body=[], facts=[]), screen)

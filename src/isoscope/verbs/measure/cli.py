"""``isoscope measure``: how evenly a cloud of vectors fills its space."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running, show
from isoscope.cli.streams import error_console
from isoscope.verbs.measure.gate import read_gates, with_gates

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """Examples:

isoscope measure package:glove

isoscope measure vectors.npy --corrections none,center --json

isoscope measure model.safetensors --column embed.weight --fail-if "mean_cosine>0.6"
"""


@dataclass(frozen=True, kw_only=True)
class Search(options.Options):
    """What is said of a search, beside the measures."""

    neighbours: bool = options.flag(
        "Also say, without labels, what each correction does to a search in a sample: neighbours "
        "kept, hubness, recall of HNSW, IVF, int8 and binary codes."
    )
    reduce: str | None = options.option(
        None,
        "Also say what is kept with so many components, such as 64,128,256: truncated, principal "
        "and whitened ones, each in float32, int8 and binary.",
        metavar="M,M,…",
    )
    pairs: Path | None = options.option(
        None, "With --reduce: labelled pairs of rows (row1, row2, score) to score every way on."
    )
    of_queries: options.Queries
    neighbour_sample: int = options.option(
        10_000, "Rows of the sample of --neighbours and --reduce.", min=2
    )
    k: int = options.option(10, "Neighbours of --neighbours and --reduce.", min=1)


@dataclass(frozen=True, kw_only=True)
class Gates(options.Showing):
    """Conditions on the numbers, for a build."""

    fail_if: list[str] | None = options.option(
        None,
        "Leave with 3 when true, e.g. 'mean_cosine>0.6' or 'mean_cosine@center>0.1'. May be "
        "repeated.",
        metavar="CONDITION",
    )


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(options.Options):
    """What ``isoscope measure`` takes."""

    cloud: str = options.argument(
        "source",
        "A file (.npy .npz .safetensors .parquet .feather .txt .vec .bin .fvecs .jsonl .faiss, or "
        ".gz or .zst of text), a pattern such as 'part-*.parquet' or 'acts/layer_{layer}.npy', an "
        "fsspec address, a PostgreSQL table ('postgresql://host/database?table=…&column=…'), "
        "package:glove or package:minilm.",
    )
    measures: str | None = options.option(
        None,
        "Names, with commas, or all; see isoscope list measures. Default: those that two reads "
        "give.",
    )
    corrections: str = options.option(
        "none,center,all-but-the-top,whiten",
        "Spaces to measure, with commas; see isoscope list corrections for their options.",
    )
    column: options.Column = None
    output: options.Output
    precision: Literal["data", "double"] = options.option(
        "data", "Project in the precision of the data, or in double."
    )
    drop_invalid: options.DropInvalid = False
    gates: Gates
    documents: str | None = options.option(
        None,
        "Column that tells which rows are from one document; intervals allow for it.",
        metavar="LABEL",
    )
    intervals: bool | None = options.option(
        None,
        "Give 95 % intervals. Default: for all but whole vocabularies.",
        "--intervals/--no-intervals",
    )
    sample: int | None = options.option(None, "Measure a random sample of this many rows.", min=2)
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
    """Print what a sample says while the whole is still read."""
    screen.print("Provisional, from a random sample; the full answer follows.", style="bold")
    show(result, screen)

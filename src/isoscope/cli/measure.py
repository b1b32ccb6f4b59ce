"""``isoscope measure``: how evenly a cloud of vectors fills its space."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from isoscope.cli import options, scaling
from isoscope.cli.command_line import command_line
from isoscope.cli.gate import parse_gate
from isoscope.cli.journals import Resume, journal_of
from isoscope.cli.output import console, silence_stdout
from isoscope.cli.pictures import Pictures, pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.searching import SAMPLE, K, Search
from isoscope.cli.warned import warnings_shown
from isoscope.errors import UsageError
from isoscope.measures.registry import default_measures
from isoscope.measures.views import DEFAULT_CORRECTIONS
from isoscope.results.asked import parse_corrections
from isoscope.results.joining import beside
from isoscope.results.measuring import choose_measures, listed, measure
from isoscope.results.render import Grid, grids, previews

if TYPE_CHECKING:
    from isoscope.cli.gate import Gate
    from isoscope.results.result import Result


LONGEST_HEADER = 10
"""A correction's name is folded behind a hyphen or colon where a line would get longer."""


def measure_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A file (.npy .npz .safetensors .parquet .feather .txt .vec .bin .fvecs .jsonl "
            ".faiss, or .gz or .zst of text), a pattern such as 'part-*.parquet' or "
            "'acts/layer_{layer}.npy', an fsspec address, a PostgreSQL table "
            "('postgresql://host/database?table=…&column=…'), package:glove or package:minilm.",
            show_default=False,
        ),
    ],
    measures: Annotated[
        str | None,
        typer.Option(
            help="Names, with commas, or all; see isoscope list measures. Default: those that two "
            "reads give."
        ),
    ] = None,
    corrections: Annotated[
        str,
        typer.Option(
            help="Spaces to measure, with commas; see isoscope list corrections for their options."
        ),
    ] = ",".join(DEFAULT_CORRECTIONS),
    column: options.Column = None,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    precision: Annotated[
        Literal["data", "double"],
        typer.Option(help="Project in the precision of the data, or in double."),
    ] = "data",
    drop_invalid: options.DropInvalid = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Leave with 3 when true, e.g. 'mean_cosine>0.6' or 'mean_cosine@center>0.1'. "
            "May be repeated.",
        ),
    ] = None,
    documents: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Column that tells which rows are from one document; intervals allow for it.",
        ),
    ] = None,
    intervals: Annotated[
        bool | None,
        typer.Option(
            "--intervals/--no-intervals",
            help="Give 95 % intervals. Default: for all but whole vocabularies.",
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Measure a random sample of this many rows.", min=2)
    ] = None,
    neighbours: Annotated[
        bool,
        typer.Option(
            "--neighbours",
            help="Also say, without labels, what each correction does to a search in a sample: "
            "neighbours kept, hubness, recall of HNSW, IVF, int8 and binary codes.",
        ),
    ] = False,
    reduce: Annotated[
        str | None,
        typer.Option(
            metavar="M,M,…",
            help="Also say what is kept with so many components, such as 64,128,256: truncated, "
            "principal and whitened ones, each in float32, int8 and binary.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="With --reduce: labelled pairs of rows (row1, row2, score) to score every way on."
        ),
    ] = None,
    queries: options.Queries = None,
    centres: options.CentresOption = None,
    neighbour_sample: Annotated[
        int, typer.Option(help="Rows of the sample of --neighbours and --reduce.", min=2)
    ] = SAMPLE,
    k: Annotated[
        int, typer.Option("--k", help="Neighbours of --neighbours and --reduce.", min=1)
    ] = K,
    seed: options.Seed = 0,
    engine: scaling.Engine = "local",
    workers: scaling.Threads = None,
    on_error: scaling.OnError = "stop",
    shard: scaling.ShardRows = None,
    resume: Resume = False,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Measure how evenly a cloud of vectors fills its space, and what corrections would change."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    gates = [parse_gate(text) for text in fail_if or []]
    spaces = [correction.text for correction in parse_corrections(listed(corrections, ()))]
    check_gates(gates, spaces)
    default = [item.name for item in default_measures()]
    names = listed(measures, default) + [gate.measure.split("/")[0] for gate in gates]
    choose_measures(names)
    journal = journal_of(out, resume=resume)
    search = Search(neighbours, reduce, pairs, neighbour_sample, k, seed, spaces, queries, centres)
    search.check(source, column, sample)
    screen = Console(stderr=True, emoji=False, markup=False)
    with warnings_shown(quiet=quiet), progress_bar(screen, quiet=quiet, mode=progress) as report:
        result = measure(
            source,
            names,
            spaces,
            column=column,
            precision=precision,
            drop_invalid=drop_invalid,
            documents=documents,
            intervals=intervals,
            sample=sample,
            seed=seed,
            engine=engine,
            workers=workers,
            on_error=on_error,
            shard_rows=shard,
            journal=journal,
            resume=resume,
            before_removal=None if out is None else lambda found: found.save(out),
            progress=report,
            provisional=partial(show_provisional, screen)
            if screen.is_terminal and not quiet
            else None,
            command=command_line(),
        )
        found = search.results(
            source, column=column, drop_invalid=drop_invalid, rows=sample, progress=report
        )
    whole = beside(result, found)
    if pictures.wanted:
        from isoscope.report.projecting import projections

        points = projections(
            source, spaces, result, column=column, drop_invalid=drop_invalid, seed=seed
        )
        whole = replace(whole, tables=[*whole.tables, *points.tables])
    give_out(whole, out, as_json=as_json, pictures=pictures)
    stop_if_tripped(result, gates)


def give_out(result: Result, out: Path | None, *, as_json: bool, pictures: Pictures) -> None:
    """Write the result where it is wanted, and print it as JSON or for a person."""
    if out is not None:
        result.save(out)
    pictures.draw([result])
    if as_json:
        print_json(result)
    else:
        show(result, console())


def show_provisional(screen: Console, result: Result) -> None:
    """Print what a sample says while the whole is still read."""
    screen.print("Provisional, from a random sample; the full answer follows.", style="bold")
    show(result, screen)


def print_json(result: Result) -> None:
    """Print the whole result, unless nobody listens any more."""
    try:
        print(result.to_json(), flush=True)
    except BrokenPipeError:
        silence_stdout()


def check_gates(gates: list[Gate], corrections: list[str]) -> None:
    """Refuse a gate on a space that is not measured."""
    for gate in gates:
        if gate.correction not in corrections:
            raise UsageError(
                f"--fail-if {gate.text!r} looks at {gate.correction}, which is not measured; "
                f"--corrections has {', '.join(corrections)}"
            )


def stop_if_tripped(result: Result, gates: list[Gate]) -> None:
    """Leave with 3 when a gate's condition came true."""
    lines = [line for gate in gates for line in gate.tripped_by(result)]
    for line in lines:
        print(f"isoscope: failed: {line}", file=sys.stderr)
    if lines:
        raise typer.Exit(3)


def show(result: Result, screen: Console) -> None:
    """Print the result for a person."""
    for one in grids(result):
        screen.print(one.title, style="italic")
        for header, rows in fitting(one, screen.width):
            table = Table()
            for k, name in enumerate(header):
                first = k == 0
                table.add_column(
                    folded(name), justify="left" if first else "right", no_wrap=first,
                    overflow="fold",
                )  # fmt: skip
            for row in rows:
                table.add_row(*row)
            screen.print(table)
        for line in one.verdict:
            screen.print(line, style="bold" if line.startswith("Verdict") else "")
        for note in one.notes:
            screen.print(note, style="dim")
    show_tables(result, screen)


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


def show_tables(result: Result, screen: Console) -> None:
    """Print the first rows of the structured measures that tell most."""
    for title, header, rows in previews(result):
        screen.print(f"{title}, all with --json" if rows else title, style="italic")
        for head, cut in fitting(Grid("", header, rows, [], []), screen.width, min_width=9):
            table = Table()
            for name in head:
                table.add_column(folded(name), justify="right", min_width=9, overflow="fold")
            for row in cut:
                table.add_row(*row)
            screen.print(table)

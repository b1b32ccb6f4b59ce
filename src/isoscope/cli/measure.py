"""``isoscope measure``: how evenly a cloud of vectors fills its space."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from isoscope.cli.gate import parse_gate
from isoscope.cli.progress import progress_bar
from isoscope.errors import UsageError
from isoscope.measures.corrections import DEFAULT_CORRECTIONS, parse_corrections
from isoscope.results.files import check_writable
from isoscope.results.measuring import choose_measures, listed, measure
from isoscope.results.render import grids, previews

if TYPE_CHECKING:
    from isoscope.cli.gate import Gate
    from isoscope.results.result import Result


def measure_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A .npy, .npz or .safetensors file, package:glove or package:minilm.",
            show_default=False,
        ),
    ],
    measures: Annotated[
        str | None,
        typer.Option(help="Names, with commas; see isoscope list measures. Default: all."),
    ] = None,
    corrections: Annotated[
        str, typer.Option(help="Spaces to measure, with commas; options as NAME:option=value.")
    ] = ",".join(DEFAULT_CORRECTIONS),
    column: Annotated[
        str | None, typer.Option(help="Which array or tensor of a file that holds several.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole result as JSON.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Also write the result to this .json or .md file.")
    ] = None,
    precision: Annotated[
        Literal["data", "double"],
        typer.Option(help="Project in the precision of the data, or in double."),
    ] = "data",
    drop_invalid: Annotated[
        bool, typer.Option("--drop-invalid", help="Leave out rows with NaN or infinities.")
    ] = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 3 when true, e.g. 'mean_cosine>0.6'. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.", min=0)] = 0,
    threads: Annotated[
        int | None, typer.Option(help="Worker threads. Default: one per core.", min=1)
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Measure how evenly a cloud of vectors fills its space, and what corrections would change."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    gates = [parse_gate(text) for text in fail_if or []]
    spaces = [correction.text for correction in parse_corrections(listed(corrections, ()))]
    check_gates(gates, spaces)
    names = None if measures is None else listed(measures, ()) + [gate.measure for gate in gates]
    choose_measures(names)
    if out is not None:
        check_writable(out)
    with progress_bar() as progress:
        result = measure(
            source,
            names,
            spaces,
            column=column,
            precision=precision,
            drop_invalid=drop_invalid,
            seed=seed,
            workers=threads,
            progress=progress,
            command=shlex.join(["isoscope", *sys.argv[1:]]),
        )
    if out is not None:
        result.save(out)
    if as_json:
        typer.echo(result.to_json())
    else:
        show(result, Console(highlight=False, markup=False))
    stop_if_tripped(result, gates)


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


def show(result: Result, console: Console) -> None:
    """Print the result for a person."""
    for one in grids(result):
        table = Table(title=one.title, title_justify="left")
        for k, name in enumerate(one.header):
            table.add_column(name, justify="left" if k == 0 else "right", no_wrap=k > 0)
        for row in one.rows:
            table.add_row(*row)
        if one.rows:
            console.print(table)
        for line in one.verdict:
            console.print(line, style="bold" if line.startswith("Verdict") else "")
        for note in one.notes:
            console.print(note, style="dim")
    show_tables(result, console)


def show_tables(result: Result, console: Console) -> None:
    """Print the first rows of the structured measures that tell most."""
    for title, header, rows in previews(result):
        table = Table(title=f"{title}, all with --json", title_justify="left")
        for name in header:
            table.add_column(name, justify="right", min_width=8)
        for row in rows:
            table.add_row(*row)
        console.print(table)

"""Options of runs that many workers share, described once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

SCALE = "Scale"

Engine = Annotated[
    str,
    typer.Option(
        metavar="local|ray[:ADDRESS]",
        help="Who works: this machine, a Ray of its own on this machine (ray), or a cluster "
        "(ray:auto, ray:HOST:6379).",
        rich_help_panel=SCALE,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Threads, or actors of Ray. Default: one per core. The numbers are the same with any.",
        min=1,
        rich_help_panel=SCALE,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Processes, or actors of Ray, each with a copy of the model and one thread. Default: "
        "this process with all its threads; with Ray one per core or accelerator.",
        min=1,
        rich_help_panel=SCALE,
    ),
]
OnError = Annotated[
    Literal["stop", "skip"],
    typer.Option(
        help="Whether a file or shard that cannot be read ends the run, or is left out, named and "
        "counted.",
        rich_help_panel=SCALE,
    ),
]
ShardRows = Annotated[
    int | None,
    typer.Option(
        "--shard",
        metavar="ROWS",
        help="Rows that a worker reads at a time. Default: 64 batches of 1.5 million numbers.",
        min=1,
        rich_help_panel=SCALE,
    ),
]
ShardTexts = Annotated[
    int | None,
    typer.Option(
        "--shard",
        metavar="TEXTS",
        help="Texts that a worker reads at a time. Default: 4,096 to 65,536, by their number.",
        min=1,
        rich_help_panel=SCALE,
    ),
]

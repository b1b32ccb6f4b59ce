"""``isoscope correct``: fit a correction, apply it to files, take new vectors into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.cli.learned import as_line, learned, mean_cosine
from isoscope.cli.output import console, silence_stdout
from isoscope.cli.progress import progress_bar
from isoscope.clouds.location import Location
from isoscope.clouds.opening import open_cloud
from isoscope.clouds.sample import LARGE_SIZE
from isoscope.clouds.selection import RowSelection
from isoscope.clouds.watched import WatchedCloud
from isoscope.clouds.writing.rewriting import refuse_corrected
from isoscope.errors import UsageError
from isoscope.files import check_place

if TYPE_CHECKING:
    from isoscope.clouds.writing import Written
    from isoscope.corrections.base import Correction

ENDING = ".safetensors"

correct_app = typer.Typer(help="Fit a correction, apply it to files, take new vectors into it.")

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A correction that `correct fit` wrote.")
]
SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Vectors: a file of any format that `isoscope measure` reads, a pattern with *, "
        "a PostgreSQL table, package:glove or package:minilm.",
    ),
]
ColumnOption = Annotated[
    str | None, typer.Option(help="Which array or column of a file that holds several.")
]
DropOption = Annotated[
    bool, typer.Option("--drop-invalid", help="Leave out rows with NaN or infinities.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]

FIT_EXAMPLE = """Example:

isoscope correct fit vectors.parquet --correction whiten --out correction.safetensors
"""

APPLY_HELP = (  # a line break in a help text would be one on the screen
    "Correct every vector of a file, in a new file of the same kind.\n\n"
    "Ids, other columns and arrays, metadata, number types and the order of rows stay as they are, "
    "and the new file appears when it is whole. A Parquet, Arrow or safetensors file and a column "
    "of PostgreSQL note the correction, and are refused when they carry it already. Other formats "
    "have no room for a note: nothing stops a second time."
)

APPLY_EXAMPLE = """Examples:

isoscope correct apply correction.safetensors vectors.parquet --out corrected.parquet

isoscope correct apply correction.safetensors "data/*.parquet" --out corrected/

isoscope correct apply correction.safetensors 'postgresql://host/db?table=docs&column=v' --out 'postgresql://host/db?table=docs&column=v_new'
"""

REFRESH_HELP = (
    "Take new vectors into a correction, as if it had been fitted on old and new ones together.\n\n"
    "Only the new ones are read: FILE keeps the sums over the old ones. Leave out of SOURCE what "
    "FILE was fitted on, as it would count twice. The same vectors as a whole are refused; some "
    "of them among others cannot be recognised. Corrections that do not follow from sums, such as "
    "cluster-pc-removal, need all vectors again."
)

REFRESH_EXAMPLE = """Example:

isoscope correct refresh correction.safetensors new_vectors.parquet
"""


@correct_app.callback(invoke_without_command=True)
def choose(context: typer.Context) -> None:
    """Fit a correction, apply it to files, take new vectors into it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@correct_app.command("fit", epilog=FIT_EXAMPLE)
def fit(
    source: SourceArgument,
    correction: Annotated[
        str,
        typer.Option(
            metavar="NAME[:option=value]",
            help="What to fit; see isoscope list corrections.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(help="The correction is written to this .safetensors file.", metavar="FILE"),
    ],
    column: ColumnOption = None,
    drop_invalid: DropOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Learn a correction from vectors, in one read for most, and write it to a file."""
    from isoscope.corrections import make_correction  # imports scikit-learn
    from isoscope.corrections.naming import text_of

    del debug  # the frame looks for it
    fitted = make_correction(correction)
    path = correction_path(out, source)
    watched = WatchedCloud(open_cloud(source, column=column), LARGE_SIZE)
    selection = RowSelection(watched, drop_invalid=drop_invalid)
    with progress_bar() as progress:
        fitted.fit_cloud(selection, progress=progress)
    sample = watched.sample()
    fitted.save(path)
    facts = {
        "correction": text_of(fitted),
        "file": str(path),
        **about(fitted),
        "left_out": selection.left_out,
        "learned": learned(fitted),
        "mean_cosine": {
            "rows": len(sample),
            "before": mean_cosine(sample),
            "after": mean_cosine(fitted.transform(sample)) if len(sample) else None,
        },
    }
    show(facts, fit_lines(facts), as_json)


@correct_app.command("apply", help=APPLY_HELP, epilog=APPLY_EXAMPLE)
def apply(
    file: FileArgument,
    source: SourceArgument,
    out: Annotated[
        str,
        typer.Option(
            help="A file of the same kind as SOURCE, or a folder, into which files go under "
            "their own names. For a PostgreSQL table a new column of it, or a new table. FAISS "
            "indexes are written as .npy, packaged clouds as well, or as .txt with their words."
        ),
    ],
    column: ColumnOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Correct every vector of a file, in a new file of the same kind."""
    from isoscope.corrections import load_correction  # imports scikit-learn
    from isoscope.corrections.applying import apply_to_files

    del debug
    correction = load_correction(file)
    with progress_bar() as progress:
        written = apply_to_files(correction, source, out, column=column, progress=progress)
    facts = [vars(one) for one in written]
    show(facts, [apply_line(one) for one in written], as_json)


@correct_app.command("refresh", help=REFRESH_HELP, epilog=REFRESH_EXAMPLE)
def refresh(
    file: FileArgument,
    source: SourceArgument,
    out: Annotated[
        str | None,
        typer.Option(help="Write here, and leave FILE as it is.", metavar="FILE2"),
    ] = None,
    column: ColumnOption = None,
    drop_invalid: DropOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Take new vectors into a correction."""
    from isoscope.corrections import load_correction, refreshed  # imports scikit-learn

    del debug
    old = load_correction(file)
    path = correction_path(file if out is None else out, source)
    refuse_corrected(source, column)
    selection = RowSelection(open_cloud(source, column=column), drop_invalid=drop_invalid)
    with progress_bar() as progress:
        new = refreshed(old, selection, refuse_same=True, progress=progress)
    new.save(path)
    facts = {
        "correction": old.name,
        "file": str(path),
        "rows_before": old.fitted_on_.rows,
        **about(new),
        "left_out": selection.left_out,
        "learned": learned(new),
    }
    show(facts, refresh_lines(facts), as_json)


def correction_path(out: str, source: str) -> Path:
    """Return the file that a correction is written to, or refuse it before any work is done."""
    location = Location(out)
    if location.is_remote:
        raise UsageError(f"--out {out}: corrections are written to files of this machine")
    path = location.path
    if path.suffix.lower() != ENDING:
        raise UsageError(f"--out {out}: the name of a correction must end in {ENDING}")
    check_place(path)
    other = Location(source)
    if path.exists() and not other.is_remote and other.exists() and path.samefile(other.path):
        raise UsageError(f"--out {out} is the file with the vectors; name another")
    return path


def about(correction: Correction) -> dict[str, Any]:
    """Return what every fitted correction has."""
    seen = correction.fitted_on_
    return {
        "rows": seen.rows,
        "width": int(correction.n_features_in_),
        "new_width": correction._output_width,
        "dtype": seen.dtype,
        "fingerprint": correction.fingerprint,
    }


def show(facts: Any, lines: list[str], as_json: bool) -> None:
    """Print for a program or for a person, unless nobody listens any more."""
    if not as_json:
        screen = console()
        for line in lines:
            screen.print(line)
        return
    try:
        print(json.dumps(facts, indent=2, ensure_ascii=False), flush=True)
    except BrokenPipeError:
        silence_stdout()


def fit_lines(facts: dict[str, Any]) -> list[str]:
    """Say what was learned from what."""
    width, new_width = facts["width"], facts["new_width"]
    becomes = "" if new_width == width else f", which become {new_width:,}"
    lines = [
        f"{facts['correction']} fitted on {facts['rows']:,} rows of {width:,} dimensions"
        f" ({facts['dtype']}){becomes}",
        *(as_line(name, fact) for name, fact in facts["learned"].items()),
        *left_out_lines(facts),
    ]
    cosine = facts["mean_cosine"]
    if cosine["before"] is not None and cosine["after"] is not None:
        lines.append(
            f"mean cosine of {cosine['rows']:,} rows: {cosine['before']:.4f} before, "
            f"{cosine['after']:.4f} after"
        )
    return [*lines, f"written to {facts['file']}"]


def refresh_lines(facts: dict[str, Any]) -> list[str]:
    """Say how many rows there were and are."""
    before, after = facts["rows_before"], facts["rows"]
    return [
        f"{facts['correction']}: {before:,} rows before, {after:,} with the new ones",
        *(as_line(name, fact) for name, fact in facts["learned"].items()),
        *left_out_lines(facts),
        f"written to {facts['file']}",
    ]


def left_out_lines(facts: dict[str, Any]) -> list[str]:
    """Say which rows did not count."""
    return [f"left out, {why}: {count:,} rows" for why, count in facts["left_out"].items()]


def apply_line(one: Written) -> str:
    """Say what became of one file."""
    note = ", noted in its metadata" if one.marked else ""
    if one.without:
        note += f"; {one.without:,} rows have no vector (NULL)"
    return f"{one.source} → {one.out}: {one.rows:,} rows of {one.width:,} dimensions{note}"

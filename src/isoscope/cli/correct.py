"""``isoscope correct``: fit a correction, apply it to files, take new vectors into it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli import options, scaling
from isoscope.cli.correct_lines import about, apply_lines, fit_lines, refresh_lines, show
from isoscope.cli.journals import Resume
from isoscope.cli.learned import learned, mean_cosine
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import warnings_shown
from isoscope.data.location import Location, is_postgres
from isoscope.data.open import open_cloud
from isoscope.data.output import check_place
from isoscope.data.rewrite import refuse_corrected
from isoscope.data.sampling import LARGE_SIZE
from isoscope.data.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.results.scaled import check_scale, skipped_count, skipped_shards

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
FileWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Processes, or actors of Ray, that write a file at a time each. Default: this process "
        "with all its threads; with Ray one per core. The files are the same with any.",
        min=1,
        rich_help_panel=scaling.SCALE,
    ),
]

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

isoscope correct apply correction.safetensors "data/*.parquet" --out corrected/ --workers 4

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
    engine: scaling.Engine = "local",
    workers: scaling.Threads = None,
    on_error: scaling.OnError = "stop",
    shard: scaling.ShardRows = None,
    resume: Resume = False,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    debug: DebugOption = False,
) -> None:
    """Learn a correction from vectors, in one read for most, and write it to a file."""
    from isoscope.corrections.base import one_cloud
    from isoscope.corrections.closed_form import ClosedForm
    from isoscope.corrections.fit import fit_and_sample
    from isoscope.corrections.reading_plan import reading_plan
    from isoscope.corrections.registry import check_workers, make_correction, text_of

    del debug  # the frame looks for it
    check_scale(engine, workers, on_error, shard)
    fitted = make_correction(correction)
    check_workers(fitted, engine, workers, resume=resume)
    path = correction_path(out, source)
    # Others keep nothing on their way that a later run could go on from.
    journal = journal_beside(out, resume=resume) if isinstance(fitted, ClosedForm) else None
    cloud = open_cloud(source, column=column, on_error=on_error)
    selection = one_cloud(RowSelection(cloud, drop_invalid=drop_invalid))
    asked = {"correction": text_of(fitted), "column": column, "drop_invalid": drop_invalid}
    with (
        warnings_shown(quiet=quiet),
        progress_bar(quiet=quiet, mode=progress) as report,
        reading_plan(
            cloud, asked, engine=engine, workers=workers, on_error=on_error, shard_rows=shard,
            journal=journal, resume=resume,
        ) as plan,
    ):  # fmt: skip
        sample = fit_and_sample(fitted, selection, LARGE_SIZE, progress=report, plan=plan)
        fitted.save(path)
        left_out = {**selection.left_out, **skipped_count(plan.skipped)}
    facts = {
        "correction": text_of(fitted),
        "file": str(path),
        **about(fitted),
        "left_out": left_out,
        **skipped_shards(plan.skipped),
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
    engine: scaling.Engine = "local",
    workers: FileWorkers = None,
    on_error: scaling.OnError = "stop",
    resume: Resume = False,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    debug: DebugOption = False,
) -> None:
    """Correct every vector of a file, in a new file of the same kind."""
    from isoscope.corrections.applying import apply_to_files
    from isoscope.corrections.storage import load_correction  # imports scikit-learn

    del debug
    check_scale(engine, workers, on_error, None)
    correction = load_correction(file)
    with (
        warnings_shown(quiet=quiet),
        progress_bar(quiet=quiet, mode=progress) as report,
    ):
        applied = apply_to_files(
            correction, source, out,
            column=column, engine=engine, workers=workers, on_error=on_error,
            journal=journal_beside(out, resume=resume), resume=resume, progress=report,
        )  # fmt: skip
        skipped_count(applied.skipped)
    facts = [vars(one) for one in applied.written]
    facts += [{"source": name, "skipped": why} for name, why in applied.skipped.items()]
    show(facts, apply_lines(applied), as_json)


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
    engine: scaling.Engine = "local",
    workers: scaling.Threads = None,
    on_error: scaling.OnError = "stop",
    shard: scaling.ShardRows = None,
    resume: Resume = False,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    debug: DebugOption = False,
) -> None:
    """Take new vectors into a correction."""
    from isoscope.corrections.base import one_cloud
    from isoscope.corrections.reading_plan import reading_plan
    from isoscope.corrections.refresh import refreshed  # imports scikit-learn
    from isoscope.corrections.storage import load_correction

    del debug
    check_scale(engine, workers, on_error, shard)
    old = load_correction(file)
    name = file if out is None else out
    path = correction_path(name, source)
    journal = journal_beside(name, resume=resume)
    refuse_corrected(source, column, on_error)
    cloud = open_cloud(source, column=column, on_error=on_error)
    selection = one_cloud(RowSelection(cloud, drop_invalid=drop_invalid))
    asked = {"refreshes": old.fingerprint, "column": column, "drop_invalid": drop_invalid}
    with (
        warnings_shown(quiet=quiet),
        progress_bar(quiet=quiet, mode=progress) as report,
        reading_plan(
            cloud, asked, engine=engine, workers=workers, on_error=on_error, shard_rows=shard,
            journal=journal, resume=resume,
        ) as plan,
    ):  # fmt: skip
        new = refreshed(old, selection, refuse_same=True, progress=report, plan=plan)
        new.save(path)
        left_out = {**selection.left_out, **skipped_count(plan.skipped)}
    facts = {
        "correction": old.name,
        "file": str(path),
        "rows_before": old.fitted_on_.rows,
        **about(new),
        "left_out": left_out,
        **skipped_shards(plan.skipped),
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


def journal_beside(out: str, *, resume: bool) -> Path | None:
    """Return the folder that keeps what a run has done; None where nothing is kept.

    Refuses to go on where nothing can be kept.
    """
    if is_postgres(out):
        return None
    location = Location(out)
    if location.is_remote:
        if resume:
            raise UsageError(f"--resume needs an --out on this machine; nothing is kept of {out}")
        return None
    path = location.path
    if path.name in ("", ".."):
        path = path.resolve()
    return Path(f"{path}.journal")

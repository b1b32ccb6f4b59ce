"""``isoscope correct``: fit a correction, apply it to files, take new vectors into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import print_screen, watching
from isoscope.cli.streams import console, print_facts
from isoscope.data.formats.registry import check_source

if TYPE_CHECKING:
    from isoscope.results.screen.blocks import Screen

FIT_EXAMPLE = """Examples:

isoscope correct fit package:glove --correction center --out center.safetensors

isoscope correct fit package:minilm --correction whiten:n_components=128 --out whiten.safetensors
"""

APPLY_HELP = (  # a line break in a help text would be one on the screen
    "Correct every vector of a file, and write a new file of the same format.\n\n"
    "Ids, other columns and arrays, metadata, number types and the order of rows are kept, and the "
    "new file appears only when it is complete. Parquet, Arrow and safetensors files and columns "
    "of PostgreSQL record the correction, so that it is not applied twice; other formats cannot "
    "record it. If the correction was fitted on vectors with norm 1, the corrected vectors are "
    "scaled to norm 1. Zero vectors stay zero."
)

APPLY_EXAMPLE = """Examples:

isoscope correct fit package:glove --correction center --out center.safetensors

isoscope correct apply center.safetensors package:glove --out corrected.npy

isoscope correct apply correction.safetensors "data/*.parquet" --out corrected/ --workers 4

isoscope correct apply correction.safetensors 'postgresql://host/db?table=docs&column=v' --out 'postgresql://host/db?table=docs&column=v_new'
"""

REFRESH_HELP = (
    "Update a correction with new vectors, as if it had been fitted on old and new ones together."
    "\n\n"
    "Only the new vectors are read, because FILE stores the sums over the old ones. SOURCE must "
    "not contain vectors that FILE was fitted on, because they would count twice. A source "
    "of exactly those vectors is refused, but old vectors among new ones are not recognised. "
    "Corrections that are not computed from sums, such as cluster-pc-removal, must be fitted on "
    "all vectors again."
)

REFRESH_EXAMPLE = """Examples:

isoscope correct fit package:glove --correction center --out center.safetensors

isoscope correct refresh center.safetensors new_vectors.parquet --out refreshed.safetensors
"""


correct_app = options.command_group(
    "Fit a correction, apply it to files, or update it with new vectors."
)

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A correction written by `isoscope correct fit`.")
]
SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Vectors: a file of any format that `isoscope measure` reads, a pattern with *, "
        "a PostgreSQL table, package:glove or package:minilm.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Reading(options.Options):
    """How vectors are read that a correction is fitted on."""

    column: options.ArrayColumn = None
    drop_invalid: options.DropInvalid = False


@dataclass(frozen=True, kw_only=True)
class Running(options.Options):
    """How a run goes on after it was killed, and what it shows."""

    resume: options.Resume = False
    watch: options.Watch
    debug: options.Debug = False


@dataclass(frozen=True, kw_only=True)
class Printed(options.Showing):
    """How what was done is told."""

    as_json: options.PrintJson = False
    ascii: bool = options.flag("Draw with plain ASCII characters.")

    def give(self, facts: Any, screen: Callable[[], Screen]) -> None:
        """Print for a program or for a person, unless nobody listens any more."""
        if self.as_json:
            print_facts(facts)
        else:
            print_screen(screen(), console(), plain=self.ascii)


@dataclass(frozen=True, kw_only=True)
class FitOptions(options.Options):
    """What ``isoscope correct fit`` takes."""

    source: SourceArgument
    correction: str = options.option(
        ...,
        "Correction to fit; see: isoscope list corrections.",
        metavar="NAME[:option=value]",
        show_default=False,
    )
    out: str = options.option(
        ..., "Write the correction to this .safetensors file.", metavar="FILE"
    )
    reading: Reading
    printed: Printed
    scale: options.Scale
    running: Running

    def __post_init__(self) -> None:
        """Refuse a file that is not there, before numpy is imported."""
        check_source(self.source)


@correct_app.command("fit", epilog=FIT_EXAMPLE)
@options.command
def fit(given: FitOptions) -> None:
    """Fit a correction to vectors, in most cases with a single read, and write it to a file."""
    with watching(given.running.watch) as report:
        facts = isoscope.fit_correction(**given.arguments(), progress=report).facts
    from isoscope.verbs.correct.screen import fit_screen

    given.printed.give(facts, lambda: fit_screen(facts, given.source))


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(options.Options):
    """What ``isoscope correct apply`` takes."""

    correction: FileArgument
    source: SourceArgument
    out: str = options.option(
        ...,
        "A file of the same format as SOURCE, a folder, or for PostgreSQL a new column or table. "
        "FAISS indexes and packaged vectors are written as .npy.",
    )
    column: options.ArrayColumn = None
    keep_norms: bool = options.flag(
        "Do not scale corrected vectors to norm 1, even if the correction was fitted on vectors "
        "with norm 1."
    )
    printed: Printed
    engine: options.Engine = "local"
    workers: int | None = options.option(
        None,
        "Processes or Ray actors, each of which writes one file at a time. Default: this process; "
        "with Ray, one per core.",
        min=1,
        panel=options.SCALE,
    )
    on_error: options.OnError = "stop"
    running: Running

    def __post_init__(self) -> None:
        """Refuse a file that is not there, before numpy is imported."""
        check_source(self.source)


@correct_app.command("apply", help=APPLY_HELP, epilog=APPLY_EXAMPLE)
@options.command
def apply(given: ApplyOptions) -> None:
    """Correct every vector of a file, and write a new file of the same format."""
    with watching(given.running.watch) as report:
        applied = isoscope.apply_correction(**given.arguments(), progress=report)
    from isoscope.verbs.correct.screen import apply_screen

    given.printed.give(applied.facts(), lambda: apply_screen(applied, given.correction))


@dataclass(frozen=True, kw_only=True)
class RefreshOptions(options.Options):
    """What ``isoscope correct refresh`` takes."""

    REPLACED = ("correction",)

    correction: FileArgument
    source: SourceArgument
    out: str | None = options.option(
        None, "Write the updated correction to this file. Default: to FILE.", metavar="FILE2"
    )
    reading: Reading
    printed: Printed
    scale: options.Scale
    running: Running

    def __post_init__(self) -> None:
        """Refuse a file that is not there, before numpy is imported."""
        check_source(self.source)


@correct_app.command("refresh", help=REFRESH_HELP, epilog=REFRESH_EXAMPLE)
@options.command
def refresh(given: RefreshOptions) -> None:
    """Update a correction with new vectors."""
    with watching(given.running.watch) as report:
        facts = isoscope.refresh_correction(**given.arguments(), progress=report).facts
    from isoscope.verbs.correct.screen import fit_screen

    given.printed.give(facts, lambda: fit_screen(facts, given.source))

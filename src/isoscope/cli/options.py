"""Options that several commands share, and groups of options that become flat ones.

The options of a command are the fields of a frozen dataclass, in the order of the help: each is
declared by ``option``, ``flag`` or ``argument``, or has one of the types below, which several
commands share. A field may be such a group itself: ``command`` expands it where it stands, and
packs the values again when the command is called.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_type_hints

import typer

from isoscope.errors import UsageError
from isoscope.registry import load

Group = TypeVar("Group", bound="Options")


@dataclass(frozen=True, kw_only=True)
class Options:
    """A group of options: every field is one, or a further group."""

    REPLACED: ClassVar[tuple[str, ...]] = ()
    """Files that are read, and that may be written over."""

    def arguments(self) -> dict[str, Any]:
        """Return the options by name, as the verb of the Python API takes them.

        What is only about showing is left out: the verb computes, the command line shows.
        """
        given: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Options):
                given |= value.arguments()
            elif one.name != "debug":  # which the frame looks for before options are parsed
                given[one.name] = value
        return given


class Showing(Options):
    """A group of options about what is shown, which no verb takes."""

    def arguments(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def command(function: Callable[[Group], None]) -> Callable[..., None]:
    """Make a command of a function of one group: its fields become options, in their order."""
    (kind,) = (hint for name, hint in get_type_hints(function).items() if name != "return")
    parameters = list(flat(kind))

    @wraps(function)
    def run(**values: Any) -> None:
        check_outputs(values, kind.REPLACED)
        function(packed(kind, values))

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


# Options that name a file to be written.
OUTPUTS = {"out": "--out", "save": "--save", "map_file": "--map", "html": "--html"}


def check_outputs(values: dict[str, Any], replaced: tuple[str, ...] = ()) -> None:
    """Refuse to write over a file that is read, and two outputs of one name."""
    written = [
        (one, Path(path))
        for name, one in OUTPUTS.items()
        for path in (values[name] if isinstance(values.get(name), list) else [values.get(name)])
        if path
    ]
    for (one, path), (other, second) in combinations(written, 2):
        if os.path.realpath(path) == os.path.realpath(second):
            raise UsageError(f"{one} and {other} name the same file, {path}; name two")
    read = [
        text
        for name, value in values.items() if name not in (*OUTPUTS, *replaced)
        for text in (value if isinstance(value, list | tuple) else [value])
        if isinstance(text, str | Path)
    ]  # fmt: skip
    for one, path in written:
        if path.is_file() and any(is_same_file(text, path) for text in read):
            raise UsageError(f"{one} {path} is a file that is read; name another")


def is_same_file(text: str | Path, path: Path) -> bool:
    """Whether the value of an option is the name of a file, and the file is that one."""
    try:
        return path.samefile(text)
    except (OSError, ValueError):  # which no file can be called
        return False


# Under which a field keeps how its option is declared to typer, given the name of the field.
DECLARED = "declared"


def option(default: Any, about: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """Declare an option, as a field of a group.

    Parameters
    ----------
    default : object
        Its value unless a user gives another; ``...`` where a user must give one.
    about : str
        What the help says of it.
    *names : str
        What it is called, such as ``--shard``; by default as the field.
    panel : str, optional
        Heading of the help under which it stands.
    **settings
        What else ``typer.Option`` takes, such as ``min``.
    """
    shown = typer.Option(*names, help=about, rich_help_panel=panel, **settings)
    needed = default is ...
    return field(default=MISSING if needed else default, metadata={DECLARED: lambda _: shown})


def flag(about: str, *names: str, panel: str | None = None) -> Any:
    """Declare an option without a value, as ``option`` does; it is False unless it is given."""

    def declared(name: str) -> Any:
        # Named here, as typer would add a second name that switches it off.
        called = names or (f"--{name.replace('_', '-')}",)
        return typer.Option(*called, help=about, rich_help_panel=panel)

    return field(default=False, metadata={DECLARED: declared})


def argument(metavar: str, about: str) -> Any:
    """Declare what a command must be given, by place and not by name."""
    shown = typer.Argument(metavar=metavar, help=about, show_default=False)
    return field(metadata={DECLARED: lambda _: shown})


def flat(kind: type[Options]) -> Iterator[Parameter]:
    """Give out the options of a group as parameters, those of groups inside it where they stand."""
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        hint = hints[one.name]
        if is_group(hint):
            yield from flat(hint)
            continue
        if DECLARED in one.metadata:
            hint = Annotated[hint, one.metadata[DECLARED](one.name)]
        default = Parameter.empty if one.default is MISSING else one.default
        yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def packed(kind: type[Group], values: dict[str, Any]) -> Group:
    """Build a group of the values of its options."""
    hints = get_type_hints(kind)
    return kind(
        **{
            one.name: packed(hints[one.name], values)
            if is_group(hints[one.name])
            else values[one.name]
            for one in fields(kind)
        }
    )


def is_group(hint: Any) -> bool:
    """Whether a field is a group of options, and not one option."""
    return isinstance(hint, type) and is_dataclass(hint)


def command_group(about: str) -> typer.Typer:
    """Make a command of several: without the name of one it shows its help."""
    group = typer.Typer(add_completion=False, help=about)

    def choose(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    group.callback(invoke_without_command=True, help=about)(choose)
    return group


def parse_every(text: str | None) -> Any:
    """Read ``--every``: a number, or ``log``."""
    return load("isoscope.models.checkpoints:parse_every")(text)


Column = Annotated[
    str | None,
    typer.Option(help="Array, column or field, if the file has several."),
]
ArrayColumn = Annotated[str | None, typer.Option(help="Array or column, if the file has several.")]
TextColumn = Annotated[str | None, typer.Option(help="Column or field that holds the texts.")]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder with the benchmarks' files.", envvar="ISOSCOPE_DATA"),
]
Words = Annotated[
    str | None, typer.Option(help="Label that holds the words. Default: word, or the only one.")
]
Ids = Annotated[
    str | None, typer.Option(help="Label that identifies rows. Default: row numbers, from 0.")
]
PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Details = Annotated[bool, typer.Option("--details", help="Print all details.")]
DropInvalid = Annotated[
    bool, typer.Option("--drop-invalid", help="Exclude rows with NaN or infinity.")
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Seeds = Annotated[
    int, typer.Option(help="Number of runs of each setting, with seeds 0, 1, 2, …", min=1)
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume a run from the journal beside --out.")
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub model.")]
CountSpecialTokens = Annotated[bool, typer.Option(help="Count the tokens that the tokenizer adds.")]
Every = Annotated[
    str | None,
    typer.Option(
        metavar="N|log",
        help="Read every Nth checkpoint, or (log) those nearest to steps 1, 2, 4, 8, …",
        callback=parse_every,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        help=("Device of the model, such as cpu or cuda. Default: an accelerator, if any.")
    ),
]

# Panels of the help.
OF_TEXTS, SCALE = "The vectors of texts", "Scale"

of_texts = partial(typer.Option, rich_help_panel=OF_TEXTS)
of_scale = partial(typer.Option, rich_help_panel=SCALE)

Layer = Annotated[str, of_texts(help="Layer of the model.")]
Pooling = Annotated[
    Literal["mean", "cls", "last", "max"] | None,
    of_texts(
        help="How tokens become one vector per text. Default: as in the model's modules.json, "
        "else mean."
    ),
]
Prompt = Annotated[
    str | None,
    of_texts(
        metavar="NAME|TEXT",
        help="Prompt before texts: a name that the model knows, or a text. Default: the model's.",
    ),
]
QueryPrompt = Annotated[
    str | None,
    of_texts(
        metavar="NAME|TEXT",
        help="Prompt before queries, or before the first texts of pairs.",
    ),
]
SpecialTokens = Annotated[bool, of_texts(help="Count the tokens that the tokenizer adds.")]
KeepVectors = Annotated[bool, of_texts(help="Cache vectors of texts in ISOSCOPE_CACHE.")]
Engine = Annotated[
    str,
    of_scale(
        metavar="local|ray[:ADDRESS]",
        help="Execution backend: this machine, a local Ray (ray), or a Ray cluster (ray:auto, "
        "ray:HOST:6379).",
    ),
]
Workers = Annotated[
    int | None,
    of_scale(
        help="Processes or Ray actors, each with a copy of the model. Default: this process; with "
        "Ray, one per core or accelerator.",
        min=1,
    ),
]
OnError = Annotated[
    Literal["stop", "skip"],
    of_scale(
        help="What to do if a file or shard cannot be read: stop, or skip and report it.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Scale(Options):
    """Who reads vectors."""

    engine: Engine = "local"
    workers: int | None = option(
        None,
        "Threads or Ray actors; results do not depend on it. Default: one per core.",
        min=1,
        panel=SCALE,
    )
    on_error: OnError = "stop"
    shard_rows: int | None = option(
        None,
        "Rows per task of a worker. Default: 64 batches of 1.5 million numbers.",
        "--shard",
        metavar="ROWS",
        min=1,
        panel=SCALE,
    )


@dataclass(frozen=True, kw_only=True)
class Compute(Options):
    """How and where models compute."""

    dtype: Literal["float32", "float16", "bfloat16", "float64"] = option(
        "float32", "Floating-point type of the model."
    )
    device: Device = None


@dataclass(frozen=True, kw_only=True)
class Encoding(Options):
    """How texts become vectors."""

    pooling: Pooling = None
    prompt: Prompt = None
    cache: KeepVectors = True
    compute: Compute


@dataclass(frozen=True, kw_only=True)
class Checkpoints(Options):
    """Which checkpoints of a training are read, and where they are kept."""

    every: Every = None
    keep: int | None = option(None, "Hub checkpoints to keep (1, or all with --cache).", min=1)
    cache: Path | None = option(None, "Folder for checkpoints. Default: a temporary one.")


@dataclass(frozen=True, kw_only=True)
class WordLookup(Options):
    """How words are found among vectors."""

    words: Words = None
    vocabulary: Path | None = option(
        None, "Words of a matrix without labels: one per line, or JSON of words and rows."
    )
    lowercase: bool = flag("Convert the words of the benchmarks to lower case.")
    prefix: str = option("", "Prefix of whole words in the vocabulary, such as Ġ.")


@dataclass(frozen=True, kw_only=True)
class Queries(Options):
    """Queries beside documents."""

    queries: str | None = option(None, "Vectors of queries, if the source holds documents.")
    centres: Literal["shared", "own", "both"] | None = option(
        None, "Centre queries on the documents' mean, on their own mean, or both. Default: both."
    )


@dataclass(frozen=True, kw_only=True)
class Limits(Showing):
    """What a command may take."""

    max_memory: str | None = option(
        None,
        "Memory limit, such as 8GB. Default: 3/4 of free RAM.",
        metavar="SIZE",
    )
    timeout: float | None = option(
        None,
        "Stop the run after this time, with exit code 124.",
        metavar="SECONDS",
        min=0.001,
        envvar="ISOSCOPE_TIMEOUT",
    )


@dataclass(frozen=True, kw_only=True)
class Watch(Limits):
    """What is shown on standard error while a command works, and what it may take."""

    progress: Literal["auto", "bar", "lines", "none"] | None = option(
        None,
        "Progress on standard error: a bar, lines of JSON, or none. Default: ISOSCOPE_PROGRESS, "
        "else auto.",
    )
    quiet: bool = flag("Write only errors to standard error.", "--quiet", "-q")


PICTURE_PACKAGES = ("jinja2", "vl_convert")
PAGE_ENDINGS = (".html", ".htm")


@dataclass(frozen=True, kw_only=True)
class Pictures(Showing):
    """Where a page and pictures go; None for nowhere."""

    html: Path | None = option(None, "Also write an .html page with pictures.")
    figures: Path | None = option(
        None, "Also write all pictures to this folder (.png, .svg, .pdf)."
    )

    @property
    def wanted(self) -> bool:
        """Whether anything is drawn."""
        return self.html is not None or self.figures is not None

    def __post_init__(self) -> None:
        """Refuse what could not be drawn or written, before any work is done."""
        if not self.wanted:
            return
        for package in PICTURE_PACKAGES:
            if importlib.util.find_spec(package) is None:
                raise UsageError(
                    f"--html and --figures need {package}; pip install 'isoscope[report]'"
                )
        if self.html is not None:
            if self.html.suffix.lower() not in PAGE_ENDINGS:
                raise UsageError(f"{self.html}: the name of a page must end in .html")
            load("isoscope.data.output:check_place")(self.html, "--html")
        if self.figures is not None and self.figures.exists() and not self.figures.is_dir():
            raise UsageError(f"--figures {self.figures} is a file; name a folder")


@dataclass(frozen=True, kw_only=True)
class Shown(Showing):
    """How a result is shown: as JSON, on a page, in pictures."""

    details: bool = flag("Print all numbers, intervals and notes.")
    as_json: bool = flag("Print the whole result as JSON.", "--json")
    ascii: bool = flag("Draw with plain ASCII characters.")
    pictures: Pictures


@dataclass(frozen=True, kw_only=True)
class Output(Shown):
    """How a result is shown, and the file that it is written to."""

    out: Path | None = option(None, "Also write the result to this .json or .md file.")

    def __post_init__(self) -> None:
        """Refuse a file that could not be written, before any work is done."""
        if self.out is not None:
            load("isoscope.results.destination:check_writable")(self.out)

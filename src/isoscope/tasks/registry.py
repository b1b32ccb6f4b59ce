"""Tasks by name: their data files, what an example of each kind is, and how to find them.

A task is a benchmark as its authors released it, with what a reader must know before trusting its
score: files, sizes, layout, licence, citation and protocol. isoscope ships none of the data: they
are read from a folder that the user names with ``--data`` or in the environment.
"""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, get_args

from isoscope.errors import DataError, UsageError, check_name, unknown_name
from isoscope.registry import Registry

if TYPE_CHECKING:
    from isoscope.tasks.protocol import SentenceProtocol, TaskPlan


VARIABLE = "ISOSCOPE_DATA"


def data_folder(given: str | Path | None) -> Path | None:
    """Return the folder that the user names, here or in the environment."""
    name = os.fspath(given) if given is not None else os.environ.get(VARIABLE)
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        where = "--data" if given is not None else VARIABLE
        raise UsageError(f"{where} {name}: there is no such folder")
    return folder


def find_file(folder: Path | None, name: str, expected: str) -> Path:
    """Find a file in the folder itself or in a folder directly inside it.

    ``expected`` says what is looked for, for the one line that a user sees when it is not there.
    """
    if folder is None:
        raise UsageError(
            f"{expected}; name the folder that holds it with --data (data=) or {VARIABLE}"
        )
    places = lookup(folder, name)
    if not places:
        raise UsageError(
            f"there is no {name} in {folder} or in a folder directly inside it; {expected}"
        )
    if len(places) > 1:
        found = ", ".join(str(path) for path in places)
        raise UsageError(f"{name} is there more than once: {found}; name one folder with --data")
    return places[0]


def lookup(folder: Path, name: str) -> list[Path]:
    """Return where a file is: in the folder itself, else in the folders directly inside it.

    Where ``name`` has a folder of its own, as in ``CoLA/train.tsv``, the user may also have named
    that one.
    """
    first, slash, _ = name.partition("/")
    own = [folder, folder.parent] if slash and folder.absolute().name == first else [folder]
    for place in own:
        if (place / name).is_file():
            return [place / name]
    # Sorted, as a message lists them: the order of a file system is not the same everywhere.
    return sorted(path for path in folder.glob(f"*/{name}") if path.is_file())


SHOWN_FILES = 3


Family = Literal[
    "word-similarity", "sts", "wic", "classification", "token-classification", "clustering",
    "pairs", "retrieval",
]  # fmt: skip


@dataclass(frozen=True)
class DataFile:
    """One file of a release.

    Attributes
    ----------
    name : str
        Its name in the release, with the folder where the name alone would not tell it; it may
        lie in the data folder, or in a folder directly inside it.
    size : int or None
        Items that it holds in the release, None for a file of one's own.
    part : str
        What it holds of the set: a split such as ``train``, or a subset such as ``headlines``.
    beside : str
        Name of the file in the same folder that holds the scores or labels, if another does.
    optional : bool
        Whether the set can be used without it.
    """

    name: str
    size: int | None
    part: str = ""
    beside: str = ""
    optional: bool = False


def part_files(
    name: str, sizes: Mapping[str, int | None], *, beside: str = "", optional: Collection[str] = ()
) -> tuple[DataFile, ...]:
    """Return the files of a release that has one for each of its parts.

    Parameters
    ----------
    name : str
        Name of the files, with ``{}`` in the place of the part.
    sizes : mapping of str to (int or None)
        How many items each part holds.
    beside : str
        Name of the files with scores or labels, with ``{}`` in the place of the part.
    optional : collection of str
        Parts that the set can be used without.
    """
    return tuple(
        DataFile(name.format(part), size, part, beside.format(part), part in optional)
        for part, size in sizes.items()
    )


@dataclass(frozen=True)
class Task:
    """A benchmark: its data as their authors released them, and how they are scored.

    Attributes
    ----------
    name : str
        What the command line calls it.
    family : str
        What the task asks of vectors; tasks of a family are scored in the same way.
    files : tuple of DataFile
        The files of its public release that are read.
    layout : str
        What a line of the files looks like.
    unit : str
        What an item is.
    licence : str
        What is known of the terms; isoscope ships none of the data.
    citation : str
        Whom to cite.
    protocol : str
        How items are chosen and scored.
    metrics : tuple of str
        The scores, as results name them.
    """

    name: str
    family: Family
    files: tuple[DataFile, ...]
    layout: str
    unit: str
    licence: str
    citation: str
    protocol: str
    metrics: tuple[str, ...]

    @property
    def file(self) -> str:
        """The names of the files, for people."""
        names = [file.name for file in self.files]
        if len(names) <= SHOWN_FILES:
            return ", ".join(names)
        return f"{names[0]} and {len(names) - 1} files like it"

    @property
    def size(self) -> int | None:
        """Items in the release, None for a file of one's own."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if sizes else None

    def find(self, folder: Path | None) -> Path:
        """Return the first data file, or say which file with which layout is expected."""
        return next(iter(self.paths(folder).values()))

    def paths(self, folder: Path | None, parts: Collection[str] = ()) -> dict[DataFile, Path]:
        """Find the files of some parts, or of all; only then may optional ones be absent."""
        chosen = [file for file in self.files if not parts or file.part in parts]
        found: dict[DataFile, Path] = {}
        for file in chosen:
            if file.optional and not parts and folder is not None and not lookup(folder, file.name):
                continue
            found[file] = self._path(folder, file)
        return found if found else {chosen[0]: self._path(folder, chosen[0])}

    def absent(self, folder: Path | None) -> list[str]:
        """Name the files that are needed and not there."""
        if folder is None:
            return [file.name for file in self.files]
        missing = []
        for file in self.files:
            places = lookup(folder, file.name)
            if not places and not file.optional:
                missing.append(file.name)
            elif places and file.beside and not places[0].with_name(file.beside).is_file():
                missing.append(file.beside)
        return missing

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Read the data, and choose the splits.

        Parameters
        ----------
        folder : Path or None
            The user's data folder.
        protocol : SentenceProtocol
            How texts become vectors, and what corrections are fitted on.
        fits : bool
            Whether there are corrections, which need something to be fitted on.
        """
        del folder, protocol, fits
        raise UsageError(
            f"{self.name} is a {self.family} task, which has no texts to encode; score it with "
            f"isoscope evaluate SOURCE --tasks {self.name}"
        )

    def check_count(self, path: Path, file: DataFile, found: int) -> None:
        """Refuse a file without examples, and warn where it is not as large as the release's."""
        if not found:
            raise DataError(f"{path} holds no {self.unit}")
        if file.size is not None and found != file.size:
            warnings.warn(
                f"{path} holds {found:,} {self.unit}; in the release of {self.name} it holds "
                f"{file.size:,}",
                stacklevel=3,
            )

    def _path(self, folder: Path | None, file: DataFile) -> Path:
        beside = f" with {file.beside}" if file.beside else ""
        expected = f"{self.name} reads {file.name}{beside}: {self.layout}"
        path = find_file(folder, file.name, expected)
        if file.beside and not path.with_name(file.beside).is_file():
            raise UsageError(f"there is no {file.beside} in {path.parent}; {expected}")
        return path


@dataclass(frozen=True)
class OwnFileTask(Task):
    """A task of a file of the user's own: nothing is looked for in a folder."""

    def find(self, folder: Path | None) -> Path:
        """Return the file, which the user named."""
        del folder
        path = pathlib.Path(self.file)
        if not path.is_file():
            raise UsageError(f"there is no file {path}; {self.name} reads {self.layout}")
        return path


@dataclass(frozen=True)
class Opener:
    """A way to make a task of something that the user names behind a colon.

    Attributes
    ----------
    kind : str
        What stands before the colon.
    open : callable
        Makes the task of what stands behind it.
    names : str
        What that is, in capitals: ``FILE``.
    about : str
        What the task is, for people.
    """

    kind: str
    open: Callable[[str], Task]
    names: str
    about: str

    @property
    def written(self) -> str:
        """How such a task is written: ``KIND:FILE``."""
        return f"{self.kind}:{self.names}"


# Tasks by name, and ways to make one; they share their names.
_TASKS = Registry[Task | Opener]("task", "isoscope.tasks.datasets")


def register(*tasks: Task) -> None:
    """Add tasks; a name can be taken once."""
    for task in tasks:
        _TASKS.register(task.name, task)


def register_opener(
    kind: str,
    opener: Callable[[str], Task],
    names: str = "FILE",
    about: str = "your own file",
) -> None:
    """Add a way to make a task of a file of one's own, written ``KIND:FILE``, or of the like."""
    _TASKS.register(kind, Opener(kind, opener, names, about))


def all_tasks() -> tuple[Task, ...]:
    """Return every task that has a name of its own, family by family."""
    order = get_args(Family)
    named = [task for task in _TASKS.values() if isinstance(task, Task)]
    return tuple(sorted(named, key=lambda task: order.index(task.family)))


def own_kinds() -> tuple[Opener, ...]:
    """Return the kinds of task that a file of one's own, or the like, can be."""
    return tuple(kind for kind in _TASKS.values() if isinstance(kind, Opener))


def find_task(name: str) -> Task:
    """Return a task by its name, or make one of ``KIND:FILE`` and the like."""
    kind, colon, file = name.strip().partition(":")
    opener = _TASKS.get(kind) if colon else None
    if isinstance(opener, Opener):
        if not file:
            raise UsageError(f"task {name!r}: name a {opener.names.lower()} after the colon")
        return opener.open(file)
    known = name.strip().lower()
    found = _TASKS.get(known)
    if not isinstance(found, Task):
        names = [task.name for task in all_tasks()]
        raise unknown_name("task", name, [*names, *(kind.written for kind in own_kinds())])
    return found


@dataclass(frozen=True)
class TextPair:
    """Two texts and how alike people find them.

    Attributes
    ----------
    first, second : str
        The texts, without blanks around them.
    score : float
        What people gave the pair, on the data set's own scale.
    subset : str
        The part of the set that the pair is from: a source of text such as ``MSRvid``, or a split.
    """

    first: str
    second: str
    score: float
    subset: str


@dataclass(frozen=True)
class WordInContext:
    """One word in two sentences, and whether it means the same in both.

    Attributes
    ----------
    word : str
        The word as a dictionary has it.
    part_of_speech : str
        ``N`` or ``V``.
    first, second : str
        The sentences as they stand in the file.
    first_index, second_index : int
        Which token of each sentence the word is; tokens have whitespace between them.
    first_span, second_span : tuple of int
        Where that token begins and ends in its sentence, in characters.
    same : bool
        Whether people find the two meanings the same.
    split : str
        ``train``, ``dev`` or ``test``.
    """

    word: str
    part_of_speech: str
    first: str
    second: str
    first_index: int
    second_index: int
    first_span: tuple[int, int]
    second_span: tuple[int, int]
    same: bool
    split: str


@dataclass(frozen=True)
class LabelledText:
    """A text, or two, with the class that people gave.

    Attributes
    ----------
    first : str
        The text; a few of SentEval's are empty.
    second : str or None
        The other text where the task is about two.
    label : str
        One of the task's ``labels``, as the release writes it.
    split : str
        The part of the set; ``all`` where the release has no splits.
    """

    first: str
    second: str | None
    label: str
    split: str


@dataclass(frozen=True)
class TaggedSentence:
    """The tokens of a sentence with a class each.

    Attributes
    ----------
    document : str
        The text that the sentence is from, such as ``brown1/br-a01``: sentences of a document are
        better kept on one side of a split.
    tokens : tuple of str
        Words as they stand, and punctuation; a multiword is one token, joined by ``_``.
    tags : tuple of (str or None)
        The class of each token, None where the release gives none.
    """

    document: str
    tokens: tuple[str, ...]
    tags: tuple[str | None, ...]

    @property
    def part(self) -> str:
        """The part of the corpus: what stands before the slash."""
        return self.document.partition("/")[0]


Example = TypeVar("Example")


@dataclass(frozen=True)
class PartedTask(Task, Generic[Example]):
    """A task whose data come in parts: splits or subsets, a file each.

    Attributes
    ----------
    reader : callable
        Reads the examples of one file; its arguments are those of ``read_file``, and for
        classification the labels.
    scored : tuple of str
        The parts that are read unless others are asked for; all where empty.
    """

    reader: Callable[..., list[Example]]
    scored: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def parts(self) -> tuple[str, ...]:
        """Every part of the set."""
        return tuple(file.part for file in self.files)

    def load(self, folder: Path | None, parts: Sequence[str] | None = None) -> list[Example]:
        """Read the examples of some parts, and warn where the release has another number of them.

        Parameters
        ----------
        folder : Path or None
            The user's data folder.
        parts : sequence of str, optional
            Which parts; by default those that are scored.
        """
        wanted = self.wanted_parts(parts)
        return self.read_files(self.paths(folder, wanted))

    def wanted_parts(self, parts: Sequence[str] | None) -> tuple[str, ...]:
        """Return some parts, which must exist, or those that are scored."""
        wanted = self.scored if parts is None else tuple(parts)
        for part in wanted:
            check_name(f"part of {self.name}", part, self.parts)
        return wanted

    def read_files(self, paths: Mapping[DataFile, Path]) -> list[Example]:
        """Read the examples of several files, and check their number."""
        examples: list[Example] = []
        for file, path in paths.items():
            found = self.read_file(path, file)
            self.check_count(path, file, len(found))
            examples += found
        return examples

    def read_file(self, path: Path, file: DataFile) -> list[Example]:
        """Read the examples of one file."""
        return self.reader(path, file)

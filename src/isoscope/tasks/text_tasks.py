"""Kinds of tasks on texts, each with what reads its examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from isoscope.errors import unknown_name
from isoscope.tasks.examples import LabelledText, TaggedSentence, TextPair, WordInContext
from isoscope.tasks.registry import Task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.tasks.registry import DataFile

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
        wanted = self.scored if parts is None else tuple(parts)
        for part in wanted:
            if part not in self.parts:
                raise unknown_name(f"part of {self.name}", part, self.parts)
        examples: list[Example] = []
        for file, path in self.paths(folder, wanted).items():
            found = self.read_file(path, file)
            self.check_count(path, file, len(found))
            examples += found
        return examples

    def read_file(self, path: Path, file: DataFile) -> list[Example]:
        """Read the examples of one file."""
        return self.reader(path, file)


@dataclass(frozen=True)
class SentenceSimilarity(PartedTask[TextPair]):
    """Pairs of texts with human scores."""


@dataclass(frozen=True)
class WordSense(PartedTask[WordInContext]):
    """One word in two sentences: the same meaning or not."""


@dataclass(frozen=True)
class TextClassification(PartedTask[LabelledText]):
    """Texts, or pairs of texts, with a class each.

    Attributes
    ----------
    labels : tuple of str
        The classes, as the release writes them.
    pairs : bool
        Whether an example is two texts.
    """

    labels: tuple[str, ...]
    pairs: bool

    def read_file(self, path: Path, file: DataFile) -> list[LabelledText]:
        """Read the examples of one file, whose labels must be known."""
        return self.reader(path, file, self.labels)


@dataclass(frozen=True)
class TokenClassification(PartedTask[TaggedSentence]):
    """Sentences whose tokens have a class each.

    Attributes
    ----------
    labels : tuple of str
        The classes.
    """

    labels: tuple[str, ...]

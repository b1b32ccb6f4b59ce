"""The vectors of some words, out of a vocabulary that may be far larger than memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import is_tensor
from isoscope.data.base import Batch, LazyLabels
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.data.base import CloudGroup


WORD = "word"
"""Label under which word vectors, packages and vocabulary files carry their words."""


@dataclass(frozen=True)
class WordVectors:
    """The rows of the words that were asked for and found."""

    vectors: NDArray[np.float64]
    places: Mapping[str, int]
    """Row of every word that was found."""
    rows: int
    """Rows of the whole vocabulary."""
    repeated: int = 0
    """Rows whose word had been seen before; the first one counts."""


@dataclass
class Collector:
    """Keeps the rows of wanted words while a cloud goes by."""

    wanted: Collection[str]
    rows: int = 0
    repeated: int = 0
    places: dict[str, int] = field(default_factory=dict)
    kept: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, batch: Batch, words: NDArray[Any]) -> None:
        """Look through one batch."""
        self.rows += len(batch.vectors)
        chosen = []
        for row, word in enumerate(words):
            if word in self.wanted:
                if word in self.places:
                    self.repeated += 1
                else:
                    self.places[word] = len(self.places)
                    chosen.append(row)
        if chosen:
            rows = batch.vectors[chosen]
            rows = rows.double().cpu().numpy() if is_tensor(rows) else rows
            self.kept.append(np.asarray(rows, np.float64))

    def result(self, width: int) -> WordVectors:
        """Return what was found."""
        vectors = np.concatenate(self.kept) if self.kept else np.empty((0, width))
        return WordVectors(vectors, self.places, self.rows, self.repeated)


def collect(
    group: CloudGroup,
    wanted: Collection[str],
    label: str | None = None,
    progress: Progress | None = None,
) -> dict[str, WordVectors]:
    """Read every cloud of a group once and keep the rows of the wanted words.

    Parameters
    ----------
    group : CloudGroup
        Clouds whose batches carry words as a label.
    wanted : collection of str
        The words, as the vocabulary writes them.
    label : str, optional
        Name of the label; by default ``word``, or the only label there is.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """
    wanted = frozenset(wanted)
    collectors = {name: Collector(wanted) for name in group.names}
    done = 0
    for batches in group.batches():
        for name, batch in batches.items():
            collectors[name].add(batch, batch.labels[label_of(batch, label, name)])
            done += len(batch.vectors)
        if progress is not None:
            progress("look up words", done, group.rows)
    return {
        name: collectors[name].result(width)
        for name, width in zip(group.names, group.widths, strict=True)
    }


def label_of(batch: Batch, wanted: str | None, name: str) -> str:
    """Tell under which label the words of a batch stand."""
    known = list(batch.labels)
    if wanted is not None:
        if wanted not in known:
            held = f"; it has {', '.join(known)}" if known else ""
            raise UsageError(f"{name} has no label {wanted!r}{held}")
        return wanted
    if WORD in known:
        return WORD
    if len(known) == 1:
        return known[0]
    if known:
        raise UsageError(
            f"{name} has several labels; say which holds the words with --words (words=): "
            f"{', '.join(known)}"
        )
    raise UsageError(
        f"{name} has no words to its vectors; name a file with a word per row with --vocabulary "
        "(vocabulary=)"
    )


class WordedGroup:
    """A cloud group whose rows get their words from a list."""

    def __init__(self, group: CloudGroup, words: NDArray[Any], where: str) -> None:
        self._group, self._words, self._where = group, words, where
        self.names, self.widths = group.names, group.widths
        self.dtypes, self.rows = group.dtypes, group.rows

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start, with the label ``word``; rows beyond the list have an empty one."""
        read = dict.fromkeys(self.names, 0)
        for batches in self._group.batches():
            for name, batch in batches.items():
                read[name] = batch.first_row + len(batch.vectors)
            yield {name: self._labelled(batch) for name, batch in batches.items()}
        for name, rows in read.items():
            if rows < len(self._words):
                raise DataError(
                    f"{self._where} has {len(self._words):,} words, but {name} has {rows:,} rows"
                )

    def _labelled(self, batch: Batch) -> Batch:
        words = partial(self._slice, batch.first_row, batch.first_row + len(batch.vectors))
        return batch._replace(labels=LazyLabels({WORD: words}))

    def _slice(self, first: int, last: int) -> NDArray[Any]:
        words = np.full(last - first, "", dtype=object)
        known = self._words[first:last]
        words[: len(known)] = known
        return words


def read_vocabulary(path: Path) -> NDArray[Any]:
    """Read the word of every row: a line each, or a JSON object that maps words to rows."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from error
    if path.suffix.lower() != ".json":
        lines = text.removesuffix("\n").split("\n")  # words may hold other separators
        return np.array([line.removesuffix("\r") for line in lines], dtype=object)
    try:
        rows = json.loads(text)
        words = np.full(max(rows.values()) + 1, "", dtype=object)
        for word, row in rows.items():
            words[row] = word
    except (ValueError, AttributeError, TypeError, IndexError) as error:
        raise DataError(f"{path} is no JSON object of words and their rows: {error}") from error
    return words


class PartOfGroup:
    """One cloud of a group, as a group of its own."""

    def __init__(self, group: CloudGroup, name: str) -> None:
        self._group = group
        place = group.names.index(name)
        self.names = (name,)
        self.widths, self.dtypes = (group.widths[place],), (group.dtypes[place],)
        self.rows = group.rows if len(group.names) == 1 else None

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start; other clouds of the group go by."""
        (name,) = self.names
        for batches in self._group.batches():
            if name in batches:
                yield {name: batches[name]}

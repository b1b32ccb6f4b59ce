"""What is explored: the vectors of every layer in memory, and the word of every row.

They come from a source of vectors, or from a model that reads texts: its tokens in every layer.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.memory import room
from isoscope.data.arrays import to_host
from isoscope.data.combine import WORD, clouds_of, label_of
from isoscope.data.open import open_cloud
from isoscope.data.sampling import lowest_indices
from isoscope.data.selection import RowSelection, count_rows
from isoscope.errors import DataError, UsageError, cut, unknown_name
from isoscope.models.sources import CONFIG, GGUF
from isoscope.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from isoscope.data.base import Batch, Cloud
    from isoscope.models.token_table import TokenSample
    from isoscope.progress import Progress


# Words that are offered in place of one that is not there.
MOST_NEAR = 8


class UnknownWordError(UsageError):
    """A word that no row has.

    Attributes
    ----------
    near : list of str
        Words that begin alike.
    """

    def __init__(self, word: str, near: list[str]) -> None:
        hint = f"; near it: {', '.join(map(cut, near))}" if near else ""
        super().__init__(f"no row has the word {cut(word)!r}{hint}")
        self.near = near


@dataclass(frozen=True)
class Colouring:
    """A number for every row that points can be coloured by."""

    values: NDArray[np.float32]
    logarithmic: bool = False
    """Whether the numbers are spread over powers, as frequencies are."""


@dataclass(frozen=True)
class Explored:
    """Vectors of one cloud, or of one set of tokens in several layers.

    Attributes
    ----------
    name : str
        What it is.
    protocol : str
        What was read.
    layers : mapping
        For each layer an array of float32; the same row is the same word in all of them.
    words : array of str
        What a person searches a row by; several rows may have the same.
    labels : array of str
        What a row is shown as.
    colourings : mapping
        Numbers by name.
    context : callable, optional
        Returns the words around a row.
    """

    name: str
    protocol: str
    layers: Mapping[str, NDArray[np.float32]]
    words: NDArray[np.object_]
    labels: NDArray[np.object_]
    colourings: Mapping[str, Colouring] = field(default_factory=dict)
    context: Callable[[int], str] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def __post_init__(self) -> None:
        _ = self._rows  # made while a person waits anyway, not at the first search

    def rows_of(self, word: str) -> list[int]:
        """Return the rows of a word; in another case, where no row has it as it is written."""
        if word in self._rows:
            return self._rows[word]
        start = self._begins(word)
        if start < len(self._sorted) and self._sorted[start].casefold() == word.casefold():
            return self._rows[self._sorted[start]]
        raise UnknownWordError(word, self.near(word))

    def near(self, word: str) -> list[str]:
        """Return words that begin with as much of a word as any does."""
        # In the order of letters these words are on both sides of the place of the word.
        folded, place = word.casefold(), self._begins(word)
        beside = [entry.casefold() for entry in self._sorted[max(place - 1, 0) : place + 1]]
        begin = folded[: max((common_letters(folded, entry) for entry in beside), default=0)]
        if not begin:
            return []
        start = self._begins(begin)
        found = self._sorted[start : start + MOST_NEAR]
        return [entry for entry in found if entry.casefold().startswith(begin)]

    def _begins(self, word: str) -> int:
        return bisect_left(self._sorted, word.casefold(), key=str.casefold)

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """The rows of every word, rising."""
        rows: dict[str, list[int]] = {}
        for row, word in enumerate(self.words.tolist()):
            rows.setdefault(word, []).append(row)
        return rows

    @cached_property
    def _sorted(self) -> list[str]:
        """All words in the order of their letters, whatever their case."""
        return sorted(self._rows, key=str.casefold)


def common_letters(one: str, other: str) -> int:
    """Return with how many letters in common two words begin.

    Examples
    --------
    >>> common_letters("rival", "river")
    3
    """
    differing = (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


# Bytes that vectors as they are may take; of larger sources a random part is read.
MEMORY = 2 * 10**9


def read_vectors(
    source: Any,
    *,
    column: str | None = None,
    words: str | None = None,
    drop_invalid: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explored:
    """Read a source of vectors into memory.

    Parameters
    ----------
    source : str, Path, array or CloudGroup
        What ``open_cloud`` takes; parts, as of ``layer_{layer}.npy``, are layers and must have the
        same rows.
    column : str, optional
        Array, column or field, if the file has several.
    words : str, optional
        Label that holds the words; by default ``word``, or the only one, or the rows' numbers.
    drop_invalid : bool
        Leave out rows that are not finite; of a single cloud only.
    seed : int
        Of the draw where not all rows fit into memory.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """
    refuse_model(source)
    group = open_cloud(source, column=column)
    clouds = clouds_of(group)
    if clouds is None:
        raise UsageError("explore takes a source of vectors, or a model with texts")
    if drop_invalid and len(clouds) > 1:
        raise UsageError("parts must keep the same rows: --drop-invalid is for a single cloud")
    fitting = max(2, room(MEMORY) // (4 * sum(cloud.width for cloud in clouds.values())))
    layers: dict[str, NDArray[np.float32]] = {}
    names: NDArray[np.object_] | None = None
    places = np.empty(0, np.int64)
    total = 0
    for part, cloud in clouds.items():
        total = count_rows(cloud)
        kept = None if total <= fitting else lowest_indices(total, fitting, seed)
        vectors, own, rows = read_cloud(cloud, kept, words, drop_invalid, total, progress)
        if names is not None and (len(rows) != len(places) or not np.array_equal(own, names)):
            raise DataError(f"{part}: its rows are not those of {next(iter(layers))}")
        layers[part], names, places = vectors, own, rows
    assert names is not None
    protocol = f"{len(places):,} rows"
    if total > fitting:
        protocol += f" of {total:,}, drawn at random (seed {seed})"
    elif len(places) < total:
        protocol += f", numbered without the {total - len(places):,} that are not finite"
    name = group.names[0] if len(layers) == 1 else str(source)
    order = {"place in the source": Colouring(places.astype(np.float32))}
    return Explored(name, protocol, layers, names, names, order)


def refuse_model(source: Any) -> None:
    """Say what a model needs; its weights alone are files of vectors."""
    if not isinstance(source, str | os.PathLike):
        return
    path = Path(source)
    if path.suffix.lower() == GGUF or (path / CONFIG).is_file():
        raise UsageError(f"{source} is a model: add --text, which it reads")


def read_cloud(
    cloud: Cloud,
    kept: NDArray[np.int64] | None,
    words: str | None,
    drop_invalid: bool,
    total: int,
    progress: Progress | None,
) -> tuple[NDArray[np.float32], NDArray[np.object_], NDArray[np.int64]]:
    """Return vectors, words and places of all rows of a cloud, or of those that are kept."""
    vectors: list[NDArray[np.float32]] = []
    names: list[NDArray[np.object_]] = []
    places: list[NDArray[np.int64]] = []
    selection = RowSelection(cloud, drop_invalid=drop_invalid)
    for batches in selection.batches():
        (batch,) = batches.values()
        last = batch.first_row + len(batch.vectors)
        rows = np.arange(batch.first_row, last)
        if kept is not None:
            rows = kept[np.searchsorted(kept, batch.first_row) : np.searchsorted(kept, last)]
        chosen = rows - batch.first_row
        vectors.append(to_host(batch.vectors)[chosen].astype(np.float32))
        names.append(words_of(batch, words, cloud.name)[chosen])
        places.append(rows)
        if progress is not None:
            progress("read", last, total)
    if not vectors:
        raise DataError(f"{cloud.name}: all rows were excluded")
    return np.concatenate(vectors), np.concatenate(names), np.concatenate(places)


def words_of(batch: Batch, wanted: str | None, name: str) -> NDArray[np.object_]:
    """Return the word of every row of a batch: its label, or its number where there is none."""
    values: Iterable[Any] = range(batch.first_row, batch.first_row + len(batch.vectors))
    if wanted is not None or WORD in batch.labels or len(batch.labels) == 1:
        values = batch.labels[label_of(batch, wanted, name)]
    return strings(map(str, values))


def strings(values: Iterable[str]) -> NDArray[np.object_]:
    """Return text as an array of Python's strings, of any length each."""
    return np.array(list(values), dtype=object)


# Tokens that are read, unless another number is asked for.
MOST_TOKENS = 20_000

# Tokens on either side of one that its context shows.
AROUND = 6

# What vocabularies write before a token that begins a word.
BEGINNING = re.compile(r"^[Ġ▁]")


def read_model(
    model: str,
    text: Any,
    *,
    column: str | None = None,
    layers: str | None = None,
    tokens: int = MOST_TOKENS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explored:
    """Read texts with a model, and keep its tokens in every layer.

    Parameters
    ----------
    model : str
        What ``open_model`` takes.
    text : str, Path or list of str
        What ``open_texts`` takes.
    column : str, optional
        Which column of a table holds the texts.
    layers : str, optional
        Names with commas; by default all.
    tokens : int
        How many are read, at most; fewer where they would not fit into memory.
    seed : int
        Of the draw of texts.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    from isoscope.data.texts.open import open_texts
    from isoscope.models.model import open_model
    from isoscope.models.token_table import read_tokens

    texts = open_texts(text, column=column)
    opened = open_model(model)
    known = opened.stacks[0].layers
    wanted = listed(layers, known)
    for layer in wanted:
        if layer not in known:
            raise unknown_name(f"layer of {opened.name}", layer, known)
    sample = read_tokens(opened, texts, tokens, seed, layers=wanted, progress=progress)
    tokenizer = opened.tokenizer
    opened.release()

    def context(row: int) -> str:
        near = around(sample, row)
        return str(tokenizer.convert_tokens_to_string(sample.tokens[near].tolist())).strip()

    words = strings(
        str(word or token) for word, token in zip(sample.words, sample.tokens, strict=True)
    )
    labels = strings(
        label(word, str(token)) for word, token in zip(words, sample.tokens, strict=True)
    )
    _, inverse, counts = np.unique(words.astype(str), return_inverse=True, return_counts=True)
    colourings = {
        "position in the text": Colouring(sample.positions.astype(np.float32)),
        "frequency in what was read": Colouring(counts[inverse].astype(np.float32), True),
    }
    return Explored(opened.name, sample.protocol, sample.layers, words, labels, colourings, context)


def around(sample: TokenSample, row: int) -> slice:
    """Return the rows near one that are of the same text; rows of a text stand together."""
    first, last = max(0, row - AROUND), min(len(sample), row + AROUND + 1)
    same = np.flatnonzero(sample.sentences[first:last] == sample.sentences[row])
    return slice(first + int(same[0]), first + int(same[-1]) + 1)


def label(word: str, token: str) -> str:
    """Return a word, with the token that is meant where it is only a part of it."""
    whole = BEGINNING.sub("", token).casefold() == word.casefold()
    return word if whole else f"{word} [{token}]"

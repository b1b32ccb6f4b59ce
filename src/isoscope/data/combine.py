"""Clouds made of others: files joined to one, parts side by side, labels added, one taken out."""

from __future__ import annotations

import bisect
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import (
    Array,
    Batch,
    Cloud,
    LazyLabels,
    WrappedGroup,
    check_rows,
    cut_clouds,
    digest_of_labels,
    is_portable,
    total_rows,
)
from isoscope.data.location import Location, matches
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.data.base import CloudGroup, Shard


# Label under which word vectors, packages and vocabulary files carry their words.
WORD = "word"


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
            f"{name} has several labels; choose the one that holds the words with --words "
            f"(words=): {', '.join(known)}"
        )
    raise UsageError(
        f"{name} has no words for its vectors; give a file with one word per row with "
        "--vocabulary (vocabulary=)"
    )


class WordedGroup(WrappedGroup):
    """A cloud group whose rows get their words from a list."""

    def __init__(self, group: CloudGroup, words: NDArray[Any], where: str) -> None:
        super().__init__(group)
        self._words, self._where = words, where

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


class JoinedCloud(Cloud):
    """Clouds of one width, read in order, with rows numbered through.

    Parameters
    ----------
    clouds : sequence of Cloud
        What is read, in order.
    name : str
        What results call the cloud.
    bad : mapping of str to str, optional
        Files that were left out, and why.
    """

    def __init__(
        self, clouds: Sequence[Cloud], name: str, bad: Mapping[str, str] | None = None
    ) -> None:
        self.bad = dict(bad or {})
        first = clouds[0]
        for cloud in clouds:
            check_alike(cloud, first, name)
        rows = total_rows(cloud.rows for cloud in clouds)
        super().__init__(name, rows, first.width, first.dtype)
        self._clouds = tuple(clouds)
        self.population = all(cloud.population for cloud in clouds)
        self.portable = all(cloud.portable for cloud in clouds)
        self.nullable = any(cloud.nullable for cloud in clouds)
        self.caveat = "; ".join(dict.fromkeys(one.caveat for one in clouds if one.caveat))
        self._starts: list[int] = []
        """First row of each cloud, as far as it has been read."""

    def identity(self) -> Any:
        """Return the identity of every file."""
        return [cloud.identity() for cloud in self._clouds]

    def place(self, name: str, row: int) -> str:
        """Say in which file a row is, and which row of that."""
        del name
        at = max(bisect.bisect_right(self._starts, row) - 1, 0)
        start = self._starts[at] if self._starts else 0
        cloud = self._clouds[at]
        return cloud.place(cloud.name, row - start)

    def read_rows(self, indices: NDArray[np.int64]) -> Array | None:
        """Return some rows, where every file knows its rows and can read some of them."""
        if self.rows is None:
            return None
        check_rows(indices, self.rows, self.name)
        starts = np.cumsum([0, *(cloud.rows or 0 for cloud in self._clouds)])
        cuts = np.searchsorted(indices, starts)
        chosen = []
        for k, cloud in enumerate(self._clouds):
            some = indices[cuts[k] : cuts[k + 1]]
            if len(some) or not k:
                rows = cloud.read_rows(some - starts[k])
                if rows is None:
                    return None
                chosen.append(rows)
        return np.concatenate(chosen)

    def read(self) -> Iterator[Batch]:
        """Yield the rows of every cloud in turn."""
        start = 0
        self._starts = []
        for cloud in self._clouds:
            count = 0
            self._starts.append(start)
            for batch in cloud.read():
                yield batch._replace(first_row=start + batch.first_row)
                count = batch.first_row + len(batch.vectors)
            start += count

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return the pieces of every file in turn, under the name of the whole."""
        pieces = []
        for cloud in self._clouds:
            for piece in map(copy.copy, cloud.cut(rows)):
                piece.name, piece.population, piece.caveat = self.name, self.population, self.caveat
                pieces.append(piece)
        return pieces


def check_alike(cloud: Cloud, first: Cloud, name: str) -> None:
    """Refuse a cloud that does not go together with the first one."""
    apart = ""
    if cloud.width != first.width:
        apart = f"has {cloud.width} dimensions, {first.where} has {first.width}"
    elif cloud.dtype != first.dtype:
        apart = f"holds {cloud.dtype}, {first.where} holds {first.dtype}"
    if apart:
        raise DataError(f"{cloud.where} {apart}: {name} is not one cloud")


class LabelledCloud(Cloud):
    """The rows of a cloud, each with one more label.

    Parameters
    ----------
    cloud : Cloud
        Where the rows come from.
    key : str
        Name of the label.
    values : array-like of shape (rows,)
        The label of every row.
    """

    def __init__(self, cloud: CloudGroup, key: str, values: Any) -> None:
        if not isinstance(cloud, Cloud):
            raise UsageError("labels by row need a single cloud")
        self._key, self._values, self._cloud = key, np.asarray(values), cloud
        self.population, self.caveat = cloud.population, cloud.caveat
        self.nullable = cloud.nullable
        self.fault, self.invalid, self.portable = cloud.fault, cloud.invalid, cloud.portable
        super().__init__(cloud.name, cloud.rows, cloud.width, cloud.dtype)
        if self._values.ndim != 1:
            raise UsageError(f"a {key} for every row is one list, not {self._values.ndim} deep")
        if cloud.rows is not None:
            self._check(cloud.rows)

    def identity(self) -> Any:
        """Return the identity of the cloud, and the digest of its labels."""
        labels = digest_of_labels({self._key: self._values})
        return {"cloud": self._cloud.identity(), "labels": labels}

    @property
    def where(self) -> str:
        """Where the vectors are."""
        return self._cloud.where

    @property
    def location(self) -> Location | None:
        """The file that the vectors are in."""
        return self._cloud.location

    def place(self, name: str, row: int) -> str:
        """Say where a row is, as the cloud below does."""
        return self._cloud.place(name, row)

    def read(self) -> Iterator[Batch]:
        """Yield the rows with their label."""
        last = 0
        for batch in self._cloud.read():
            last = batch.first_row + len(batch.vectors)
            values = self._values[batch.first_row : last]
            if len(values) < len(batch.vectors):
                self._check(last)
            yield batch._replace(labels={**batch.labels, self._key: values})
        self._check(last)

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return labelled pieces; where one does not know its rows, nobody knows their labels."""
        pieces: list[Cloud] = []
        first = 0
        for piece in self._cloud.cut(rows):
            if piece.rows is None:
                return (self,)
            labelled = LabelledCloud(piece, self._key, self._values[first : first + piece.rows])
            labelled.start = piece.start
            pieces.append(labelled)
            first += piece.rows
        return pieces

    def _check(self, rows: int) -> None:
        if rows != len(self._values):
            raise DataError(
                f"{self.name}: {len(self._values):,} values of {self._key} for {rows:,} rows"
            )


FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


class FileParts:
    """Clouds that are measured in one run, one after the other, each as a part of its own."""

    def __init__(self, clouds: Mapping[str, Cloud]) -> None:
        self.clouds = dict(clouds)
        self.names, several = tuple(clouds), clouds.values()
        self.widths = tuple(cloud.width for cloud in several)
        self.dtypes = tuple(cloud.dtype for cloud in several)
        self.rows = total_rows(cloud.rows for cloud in several)
        self.population = all(cloud.population for cloud in several)
        self.portable = all(cloud.portable for cloud in several)

    def place(self, name: str, row: int) -> str:
        """Say in which file and part a row is."""
        cloud = self.clouds[name]
        return f"{cloud.where}, {name}: row {cloud.start + row}"

    def identity(self) -> Any:
        """Return the identity of every part."""
        return {name: cloud.identity() for name, cloud in self.clouds.items()}

    def shards(self, rows: int | None) -> list[Shard]:
        """Cut every part into shards of its own."""
        return cut_clouds(self.clouds, rows, self.only)

    def only(self, name: str, cloud: Cloud) -> FileParts:
        """Return a group of one part, which is read from another cloud: a piece of its own."""
        one = FileParts({name: cloud})
        one.population = self.population  # of all parts together, however they are cut
        return one

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read part after part."""
        for name, cloud in self.clouds.items():
            for batch in cloud.read():
                yield {name: batch}


def clouds_of(group: CloudGroup) -> Mapping[str, Cloud] | None:
    """Return the clouds of a group that are read one by one; None of those read together."""
    if isinstance(group, Cloud):
        return {group.name: group}
    return group.clouds if isinstance(group, FileParts) else None


def is_pattern(text: str) -> bool:
    """Whether a source names several parts, as in ``acts/layer_{layer}.npy``."""
    return FIELD.search(text) is not None


def find_parts(pattern: str) -> dict[str, str]:
    """Return the files that a pattern with {field} matches: part name to file, in natural order."""
    fields = FIELD.findall(pattern)
    if len(set(fields)) != len(fields):
        raise UsageError(f"{pattern}: every field in braces needs a name of its own")
    expression, position = "", 0
    for found in FIELD.finditer(pattern):
        expression += re.escape(pattern[position : found.start()]) + f"(?P<{found[1]}>[^/]+)"
        position = found.end()
    expression += re.escape(pattern[position:])
    parts: dict[str, str] = {}
    for location in matches(FIELD.sub("*", pattern)):
        match = re.fullmatch(expression, location.text)
        if match:
            name = ", ".join(f"{key} {value}" for key, value in match.groupdict().items())
            parts[name] = location.text
    if not parts:
        raise UsageError(f"no file matches {pattern}")
    return dict(sorted(parts.items(), key=lambda item: natural(item[0])))


def natural(text: str) -> list[tuple[int, int | str]]:
    """Return a sorting key under which layer 10 follows layer 9."""
    pieces = re.split(r"(\d+)", text)
    return [(0, int(piece)) if piece.isdigit() else (1, piece) for piece in pieces]


class SingleCloud(Cloud):
    """The rows of one of the clouds of a group, which is read as a whole for them."""

    def __init__(self, group: CloudGroup, name: str) -> None:
        position = group.names.index(name)
        rows = group.rows if len(group.names) == 1 else None
        super().__init__(name, rows, group.widths[position], group.dtypes[position])
        self._group, self.portable = group, is_portable(group)

    def read(self) -> Iterator[Batch]:
        """Yield the batches of this cloud."""
        for batches in self._group.batches():
            if self.name in batches:
                yield batches[self.name]

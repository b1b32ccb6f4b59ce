"""Texts in shards: stretches of one file each, which any worker reads by itself.

A shard consists of *windows*, stretches of texts that are held, and sorted by length, together.
They are cut by the texts alone, so that whatever follows from them depends neither on the size of
batches nor on how many workers read.

A file is read once to count its texts and to find where its windows end; shards are whole windows,
so that the texts that are sorted together do not depend on how a source is cut. Neither does the
cut depend on who reads: it follows from the counts alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from isoscope.data.texts.base import Tally, TextSource, TextSurvey, no_text, numbered
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from isoscope.data.texts.base import CleanRow, Text, TextRow
    from isoscope.progress import Progress


WINDOW_TEXTS = 4_096

# Texts that are sorted together: enough that neighbours have a length, few enough to hold.
WINDOW_CHARACTERS = 2**21


def windows(
    texts: Iterable[Text], most: int = WINDOW_TEXTS, characters: int = WINDOW_CHARACTERS
) -> Iterator[list[Text]]:
    """Cut a stream of texts into windows, each as soon as it is full."""
    window: list[Text] = []
    held = 0
    for text in texts:
        window.append(text)
        held += len(text.text)
        if len(window) >= most or held >= characters:
            yield window
            window, held = [], 0
    if window:
        yield window


# Shards of a source of ordinary size: several for each of a few workers.
USUAL_SHARDS = 64

# Windows of a shard at most: what is lost when a worker dies is read again soon.
MOST_WINDOWS = 16


@dataclass(frozen=True)
class TextShard:
    """A stretch of texts of one file; it can be pickled."""

    number: int
    """Position among all shards."""
    name: str
    """The file, and which of its texts where it has several shards."""
    source: int
    """Which of the files."""
    start: int
    """Texts of the file before the first one; blank rows do not count."""
    stop: int
    """Texts of the file up to the last one."""
    first: int
    """Number of the first one among the texts of all files."""
    characters: int


@dataclass(frozen=True)
class FileSurvey(TextSurvey):
    """What one pass over one file tells. The file may hold no text, where others do."""

    cuts: tuple[int, ...]
    """Texts of the file at the end of each window."""
    cut_characters: tuple[int, ...]
    """Characters of the file at the end of each window."""

    def to_dict(self) -> dict[str, Any]:
        """Return the survey as JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FileSurvey:
        """Rebuild a survey."""
        lists = {name: tuple(values[name]) for name in ("cuts", "cut_characters")}
        return cls(**{**values, **lists})


def sources_of(texts: TextSource) -> tuple[TextSource, ...]:
    """Return the files of a source in their order; most are one."""
    return texts.files


def survey_file(
    source: TextSource, progress: Progress | None = None, size: int | None = None
) -> FileSurvey:
    """Count and digest the texts of one file, and note where its windows end.

    The digest is that of ``source.survey()``, which refuses a file without text.

    Parameters
    ----------
    source : TextSource
        The file.
    progress : callable, optional
        Told how many texts have been counted.
    size : int, optional
        Texts of a shard as ``cut_texts`` takes it: where that is less than a window, windows are
        as small.
    """
    tally = Tally(progress)
    most = WINDOW_TEXTS if size is None else min(size, WINDOW_TEXTS)
    cuts, cut_characters = [], []
    for _ in windows(counted(source, tally), most):  # each comes before the text behind it is read
        cuts.append(tally.texts)
        cut_characters.append(tally.characters)
    return FileSurvey(*tally.facts(), tuple(cuts), tuple(cut_characters))


def counted(source: TextSource, tally: Tally) -> Iterator[Text]:
    """Yield the texts of a file, each when it has been counted."""
    for text, document in source.cleaned():
        index = tally.texts
        tally.add(text, document)
        if text is not None:
            yield numbered(text, document, index)


def whole_survey(source: TextSource, surveys: Sequence[FileSurvey]) -> TextSurvey:
    """Add the surveys of the files of a source up.

    Where several files hold text the digest is one of their digests, not that of
    ``source.survey()``: no single worker has seen all texts.
    """
    texts = sum(survey.texts for survey in surveys)
    blank = sum(survey.blank for survey in surveys)
    if not texts:
        raise no_text(source.where, blank)
    digests = [survey.sha256 for survey in surveys if survey.texts]
    sha256 = digests[0]
    if len(digests) > 1:
        sha256 = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    return TextSurvey(texts, sum(survey.characters for survey in surveys), blank, sha256)


def cut_texts(
    texts: TextSource, surveys: Sequence[FileSurvey], size: int | None = None
) -> list[TextShard]:
    """Cut a source into shards.

    Parameters
    ----------
    texts : TextSource
        The source.
    surveys : sequence of FileSurvey
        Those of its files, in order.
    size : int, optional
        Texts that a shard has at least, the last one of a file aside. Without it a shard has as
        many windows as make about 64 shards of all files, and 16 at most.
    """
    if size is not None and size < 1:
        raise UsageError(f"a shard must have at least 1 text, got {size}")
    # From the counts alone, not from the number of workers: the merge tree is one over shards, and
    # another cut would change the last digits of all sums.
    together = round(sum(len(survey.cuts) for survey in surveys) / USUAL_SHARDS)
    together = min(max(together, 1), MOST_WINDOWS)
    shards: list[TextShard] = []
    before = 0
    for number, (source, survey) in enumerate(zip(sources_of(texts), surveys, strict=True)):
        start = passed = 0
        ends = shard_ends(survey.cuts, together, size)
        for end in ends:
            stop, characters = survey.cuts[end], survey.cut_characters[end]
            name = source.where
            if len(ends) > 1:
                name += f", texts {start + 1:,} to {stop:,}"
            shard = TextShard(
                len(shards), name, number, start, stop, before + start, characters - passed
            )
            shards.append(shard)
            start, passed = stop, characters
        before += survey.texts
    return shards


def shard_ends(cuts: Sequence[int], together: int, size: int | None) -> list[int]:
    """Return which windows of a file are the last ones of shards."""
    if not cuts:
        return []
    last = len(cuts) - 1
    if size is None:
        return [*range(together - 1, last, together), last]
    ends: list[int] = []
    start = 0
    for window, cut in enumerate(cuts[:last]):
        if cut - start >= size:
            ends.append(window)
            start = cut
    return [*ends, last]


class ShardReader:
    """Reads shards, each whole or in part and in any order, one thread at a time.

    It goes on where it is: shards in the order of the source take one pass over each file, in
    which those that others read are skipped. A file stays open until another one is read or the
    reader is closed.

    Parameters
    ----------
    texts : TextSource
        The source that was cut.
    """

    def __init__(self, texts: TextSource) -> None:
        self._sources = sources_of(texts)
        self._open: int | None = None
        self._rows: Generator[CleanRow, None, None] | None = None
        self._taken = 0

    def read(self, shard: TextShard) -> Iterator[Text]:
        """Yield the texts of a shard, as ``texts()`` of the whole source gives them."""
        characters = 0
        for position in range(shard.start, shard.stop):
            text, document = self._text(shard, position)
            characters += len(text)
            yield numbered(text, document, shard.first + position - shard.start)
        # The cheapest sign that a file was changed between counting and reading.
        if characters != shard.characters:
            raise changed(shard)

    def close(self) -> None:
        """Close the file that is open; reading opens it again."""
        if self._rows is not None:
            self._rows.close()
        self._open = self._rows = None

    def __enter__(self) -> ShardReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _text(self, shard: TextShard, position: int) -> tuple[str, str | None]:
        """Return one text of the file of a shard, and the document that the file names."""
        try:
            for text, document in self._ahead_of(shard.source, position):
                if text is not None:
                    self._taken += 1
                    if self._taken > position:
                        return text, document
        except DataError as error:
            self.close()
            # Errors begin with the file, as the name of the shard does.
            reason = str(error).removeprefix(self._sources[shard.source].where).lstrip(": ")
            raise DataError(f"{shard.name}: {reason}") from error
        except BaseException:
            self.close()  # a generator that has raised would pass for a file at its end
            raise
        self.close()
        raise changed(shard)

    def _ahead_of(self, source: int, position: int) -> Iterator[CleanRow]:
        """Return the rows of a file from somewhere before a text: from here, if that is."""
        if self._rows is None or source != self._open or self._taken > position:
            self.close()
            self._open, self._rows, self._taken = source, self._sources[source].cleaned(), 0
        return self._rows


def changed(shard: TextShard) -> DataError:
    """Build the error for a file that is not what was counted."""
    return DataError(f"{shard.name}: the texts have changed since they were counted; start again")


class ShardTexts(TextSource):
    """The texts of one shard, under the numbers that they have in the whole source."""

    def __init__(self, whole: TextSource, reader: ShardReader, shard: TextShard) -> None:
        super().__init__(whole.name, shard.name)
        self._reader, self._shard = reader, shard

    def rows(self) -> Iterator[TextRow]:
        """Yield the texts as rows, for those who want them so."""
        for text in self.texts():
            yield text.text, text.document

    def texts(self) -> Iterator[Text]:
        """Yield the texts."""
        return self._reader.read(self._shard)

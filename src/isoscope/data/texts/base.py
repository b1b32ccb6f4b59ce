"""What every source of texts offers: its texts, as often as wanted, and what they add up to."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from isoscope.data.base import add_text
from isoscope.data.formats.registry import some
from isoscope.data.location import Location
from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.progress import Progress, report

# What a column of texts is called where there are others.
USUAL = ("text", "sentence", "content")

# What can be the name of a document.
PLAIN = (str, int, float)


def choose_column(
    column: str | None, document: str | None, columns: Mapping[str, bool], where: str
) -> str:
    """Return the column that is named, or the only one that could be meant.

    Parameters
    ----------
    column, document : str or None
        What the user named.
    columns : mapping of str to bool
        Every column, and whether it holds text.
    where : str
        The file, for messages.
    """
    for name in (document, column):
        if name is not None and name not in columns:
            raise unknown_name(f"column of {where}", name, columns)
    if column is not None:
        if not columns[column]:
            others = some(name for name, text in columns.items() if text)
            these = f"; these do: {others}" if others else ""
            raise DataError(f"{where}: the column {column!r} does not hold text{these}")
        return column
    candidates = [name for name, text in columns.items() if text and name != document]
    usual = [name for name in candidates if name.lower() in USUAL]
    for found in (candidates, usual):
        if len(found) == 1:
            return found[0]
    if not candidates:
        raise DataError(f"{where} has no column of text; it has {some(columns) or 'none'}")
    raise UsageError(
        f"{where} has {len(candidates)} columns of text; name one with --column "
        f"(column= in Python): {some(candidates)}"
    )


def document_name(value: Any, column: str, where: str, row: int) -> str:
    """Return a cell as the name of a document."""
    if not isinstance(value, PLAIN) or not str(value).strip():
        raise DataError(
            f"{where}: row {row} has no name of a document in {column!r}; fill it in, or leave "
            "--document out"
        )
    return str(value)


# A text, None where it is missing, and the cell that names its document, None without one.
TextRow: TypeAlias = tuple[str | None, Any]

# A text, None where it is blank, and the document that the source names.
CleanRow: TypeAlias = tuple[str | None, str | None]

# Texts between two reports of progress.
REPORTED = 10_000


@dataclass(frozen=True, slots=True)
class Text:
    """One text."""

    text: str
    index: int
    """Its number among the texts of its source, from 0; blank ones have none."""
    document: str
    """What it is a part of: itself, by its number, unless the source tells."""


@dataclass(frozen=True)
class TextSurvey:
    """What one pass over a source tells."""

    texts: int
    characters: int
    blank: int
    """Rows that were passed over: blank or missing."""
    sha256: str
    """Digest of the texts in order, and of their documents where the source names them."""


class Tally:
    """Counts and digest of the rows met so far, for a survey."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.texts = self.characters = self.blank = 0
        self._digest = hashlib.sha256()
        self._progress = progress

    def add(self, text: str | None, document: str | None) -> None:
        """Count a cleaned row; None is a blank one."""
        if text is None:
            self.blank += 1
            return
        for part in (text,) if document is None else (text, document):
            add_text(self._digest, part)
        self.texts += 1
        self.characters += len(text)
        if self.texts % REPORTED == 0:
            report(self._progress, "counting texts", self.texts)

    def facts(self) -> tuple[int, int, int, str]:
        """Return what a ``TextSurvey`` begins with."""
        return self.texts, self.characters, self.blank, self._digest.hexdigest()


class TextSource(ABC):
    """Texts in order, read anew each time.

    Parameters
    ----------
    name : str
        What people call it.
    where : str, optional
        The file or address, for messages.
    column : str, optional
        The column that holds the texts, where there are columns.
    document : str, optional
        The column that names their documents, where one does.
    """

    def __init__(
        self, name: str, where: str = "", column: str | None = None, document: str | None = None
    ) -> None:
        self.name = name
        self.where = where or name
        self.column, self.document = column, document

    @abstractmethod
    def rows(self) -> Iterator[TextRow]:
        """Yield every row, blank ones too, from the beginning."""

    def identity(self) -> Any:
        """Return what tells this source from another, for a journal: a digest of all texts."""
        return {"name": self.name, "sha256": self.survey().sha256}

    @property
    def files(self) -> tuple[TextSource, ...]:
        """The sources of single files, in their order; most sources are one."""
        return (self,)

    def texts(self) -> Iterator[Text]:
        """Yield the texts in order; blank ones are passed over."""
        index = 0
        for text, document in self._checked():
            if text is not None:
                yield numbered(text, document, index)
                index += 1

    def survey(self, progress: Progress | None = None) -> TextSurvey:
        """Count and digest all texts.

        The digest changes with any text, their order, and any document that the source names; it
        does not with blank rows, or with how a file is compressed.
        """
        tally = Tally(progress)
        for text, document in self._checked():
            tally.add(text, document)
        return TextSurvey(*tally.facts())

    def cleaned(self) -> Generator[CleanRow, None, None]:
        """Yield the rows with blank ones as None, and documents by name."""
        for row, (text, document) in enumerate(self.rows(), start=1):
            if text is None or not text or text.isspace():
                yield None, None
                continue
            check_unicode(text, self.where, row)
            if self.document is not None:
                document = document_name(document, self.document, self.where, row)
            yield text, document

    def _checked(self) -> Iterator[CleanRow]:
        """Yield the cleaned rows; a source without any text is an error."""
        rows = found = 0
        for text, document in self.cleaned():
            rows += 1
            found += text is not None
            yield text, document
        if not found:
            raise no_text(self.where, rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.where!r}>"


class FileTexts(TextSource):
    """Texts in one file; see ``TextSource`` for the parameters besides its place."""

    def __init__(
        self,
        location: Location,
        column: str | None = None,
        document: str | None = None,
        *,
        name: str = "",
        where: str = "",
    ) -> None:
        super().__init__(name or location.stem, where or str(location), column, document)
        self.location, self._size = location, location.size()

    def identity(self) -> Any:
        """Return address, size and time of change of the file, and which columns are read."""
        return {**self.location.identity(), "column": self.column, "document": self.document}


def numbered(text: str, document: str | None, index: int) -> Text:
    """Return a text with its number, which names its document where the source does not."""
    return Text(text, index, str(index) if document is None else document)


def no_text(where: str, rows: int) -> DataError:
    """Build the error for a source whose rows are all blank."""
    reason = f"all {rows:,} rows are blank" if rows else "it is empty"
    return DataError(f"{where} holds no text: {reason}")


def check_unicode(text: str, where: str, row: int) -> None:
    r"""Refuse half of a surrogate pair (``\ud83d`` in JSON), which tokenizers do not take."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: text {row} holds half of a surrogate pair ({text[error.start]!a}), which "
            "no tokenizer can read; remove it"
        ) from error

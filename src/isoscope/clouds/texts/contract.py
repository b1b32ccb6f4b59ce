"""What every source of texts offers: its texts, as often as wanted, and what they add up to."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.clouds.texts.columns import document_name
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

TextRow: TypeAlias = tuple[str | None, Any]
"""A text, None where it is missing, and the cell that names its document, None without one."""

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Takes the name of a stage, what is done, and the total where it is known."""

REPORTED = 10_000
"""Texts between two reports of progress."""


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
        self,
        name: str,
        where: str = "",
        column: str | None = None,
        document: str | None = None,
    ) -> None:
        self.name = name
        self.where = where or name
        self.column, self.document = column, document

    @abstractmethod
    def rows(self) -> Iterator[TextRow]:
        """Yield every row, blank ones too, from the beginning."""

    def texts(self) -> Iterator[Text]:
        """Yield the texts in order; blank ones are passed over."""
        index = 0
        for text, document in self._checked():
            if text is not None:
                yield Text(text, index, str(index) if document is None else document)
                index += 1

    def survey(self, progress: Progress | None = None) -> TextSurvey:
        """Count and digest all texts.

        The digest changes with any text, their order, and any document that the source names; it
        does not with blank rows, or with how a file is compressed.
        """
        texts = characters = blank = 0
        digest = hashlib.sha256()
        for text, document in self._checked():
            if text is None:
                blank += 1
                continue
            # The lengths keep "ab", "c" apart from "a", "bc".
            for part in (text,) if document is None else (text, document):
                content = part.encode()
                digest.update(b"%d\n" % len(content))
                digest.update(content)
            texts += 1
            characters += len(text)
            if progress is not None and texts % REPORTED == 0:
                progress("counting texts", texts, None)
        return TextSurvey(texts, characters, blank, digest.hexdigest())

    def cleaned(self) -> Iterator[tuple[str | None, str | None]]:
        """Yield the rows with blank ones as None, and documents by name."""
        for row, (text, document) in enumerate(self.rows(), start=1):
            if text is None or not text or text.isspace():
                yield None, None
                continue
            check_unicode(text, self.where, row)
            if self.document is not None:
                document = document_name(document, self.document, self.where, row)
            yield text, document

    def _checked(self) -> Iterator[tuple[str | None, str | None]]:
        """Yield the cleaned rows; a source without any text is an error."""
        rows = found = 0
        for text, document in self.cleaned():
            rows += 1
            found += text is not None
            yield text, document
        if not found:
            reason = f"all {rows:,} rows are blank" if rows else "it is empty"
            raise DataError(f"{self.where} holds no text: {reason}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.where!r}>"


def check_unicode(text: str, where: str, row: int) -> None:
    r"""Refuse half a character, which ``\ud83d`` in JSON can be: tokenizers do not take it."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: text {row} holds half a character ({text[error.start]!a}), which no "
            "tokenizer reads; remove it"
        ) from error

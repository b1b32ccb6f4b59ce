"""Several files as one source, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.texts.contract import TextRow, TextSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class JoinedTexts(TextSource):
    """Sources in order, with texts numbered through; one of them may be blank."""

    def __init__(self, sources: Sequence[TextSource], name: str) -> None:
        super().__init__(name, column=sources[0].column)
        self._sources = tuple(sources)

    def rows(self) -> Iterator[TextRow]:
        """Yield the rows of every source in turn."""
        for source in self._sources:
            yield from source.cleaned()  # which names files and their rows in messages

"""Several files as one source, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.texts.contract import TextRow, TextSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class JoinedTexts(TextSource):
    """Sources in order, with texts numbered through; one of them may be blank.

    Parameters
    ----------
    sources : sequence of TextSource
        What is read, in order.
    name : str
        What people call it.
    bad : mapping of str to str, optional
        Files that were left out, and why.
    """

    def __init__(
        self, sources: Sequence[TextSource], name: str, bad: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(name, column=sources[0].column)
        self._sources = tuple(sources)
        self.bad = dict(bad or {})

    @property
    def sources(self) -> tuple[TextSource, ...]:
        """The source of each file."""
        return self._sources

    def rows(self) -> Iterator[TextRow]:
        """Yield the rows of every source in turn."""
        for source in self._sources:
            yield from source.cleaned()  # which names files and their rows in messages

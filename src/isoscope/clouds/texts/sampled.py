"""Some texts of a source, drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.sample import lowest_indices
from isoscope.clouds.texts.contract import TextRow, TextSource

if TYPE_CHECKING:
    from collections.abc import Iterator


class SampledTexts(TextSource):
    """Texts of another source in their order, each with the same chance to be among them.

    Parameters
    ----------
    source : TextSource
        Where they come from; it is read once to count its texts.
    size : int
        How many are drawn; all where there are no more.
    seed : int
        Which ones.
    """

    def __init__(self, source: TextSource, size: int, seed: int) -> None:
        super().__init__(source.name, source.where, source.column)
        self.source, self.size, self.seed = source, size, seed
        self.of = source.survey().texts
        self._drawn = lowest_indices(self.of, size, seed)
        if len(self._drawn) < self.of:
            self.name = f"{source.name}, {len(self._drawn):,} of {self.of:,} drawn, seed {seed}"

    def rows(self) -> Iterator[TextRow]:
        """Yield the drawn texts."""
        drawn = iter(self._drawn.tolist())
        wanted = next(drawn, None)
        for text in self.source.texts():
            if text.index == wanted:
                yield text.text, text.document
                wanted = next(drawn, None)
            if wanted is None:
                return

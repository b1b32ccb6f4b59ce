"""Reading word pairs with human scores, in the layouts in which the benchmarks were released."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.errors import DataError
from isoscope.tasks.text_file import as_number, text_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PART_OF_SPEECH = re.compile(r"-[nvj]$")


@dataclass(frozen=True)
class WordPair:
    """Two words and how alike people find them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class PairLayout:
    """Where the words and the score stand in a line.

    Attributes
    ----------
    separator : str or None
        Between columns; None where the first line tells: a tab, else a comma, else blanks.
    score : int
        Column of the score, counted from 0; words are the first two.
    columns : tuple of int
        Fewest and most columns of a line.
    tagged : bool
        Words end in ``-n``, ``-v`` or ``-j``, which is no part of them.
    """

    separator: str | None
    score: int
    columns: tuple[int, int]
    tagged: bool = False

    def read(self, path: Path) -> list[WordPair]:
        """Read a file; a first line whose score is no number is its header."""
        pairs: list[WordPair] = []
        separator = self.separator
        header_allowed = True
        for number, line in enumerate(text_lines(path), start=1):
            if not line.strip():
                continue
            if separator is None:
                separator = guess_separator(line)
            where = f"{path}: line {number}"
            fields = split(line, separator)
            self._check_columns(fields, separator, where)
            score = as_number(fields[self.score])
            if score is None and header_allowed:
                header_allowed = False
                continue
            header_allowed = False
            if score is None or not math.isfinite(score):
                raise DataError(
                    f"{where}: column {self.score + 1} should be a score, not "
                    f"{fields[self.score]!r}"
                )
            pairs.append(WordPair(self._word(fields[0]), self._word(fields[1]), score))
        if not pairs:
            raise DataError(f"{path} holds no word pairs")
        return pairs

    def _word(self, field: str) -> str:
        return PART_OF_SPEECH.sub("", field) if self.tagged else field

    def _check_columns(self, fields: Sequence[str], separator: str, where: str) -> None:
        fewest, most = self.columns
        if not fewest <= len(fields) <= most or not fields[0] or not fields[1]:
            between = {"\t": "tabs", ",": "commas", " ": "blanks"}[separator]
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise DataError(
                f"{where} has {len(fields)} columns with {between} between them; expected "
                f"{wanted}: two words, and the score in column {self.score + 1}"
            )


SIMLEX = PairLayout("\t", score=3, columns=(4, 10))
MEN = PairLayout(" ", score=2, columns=(3, 3), tagged=True)
WORDSIM = PairLayout("\t", score=2, columns=(3, 3))
RARE_WORDS = PairLayout("\t", score=2, columns=(3, 13))
THREE_COLUMNS = PairLayout(None, score=2, columns=(3, 3))


def guess_separator(line: str) -> str:
    """Tell what stands between the columns of a line."""
    return next((mark for mark in ("\t", ",") if mark in line), " ")


def split(line: str, separator: str) -> list[str]:
    """Cut a line into fields; with commas, quotes hold a field together."""
    if separator == " ":
        return line.split()
    fields = next(csv.reader([line])) if separator == "," else line.split(separator)
    return [field.strip() for field in fields]

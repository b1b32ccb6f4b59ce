"""Word similarity: do vectors find the same words alike that people find alike?

Five benchmarks in the layouts in which they were released, and files of the user's own. A pair
counts where both words have a vector; the result says how many do not.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from isoscope.errors import DataError
from isoscope.tasks.datasets.lines import as_number, filled_lines, wrong_columns
from isoscope.tasks.registry import DataFile, OwnFileTask, Task, register, register_opener

# What may stand between columns, in words.
BETWEEN = {"\t": "tabs", ",": "commas", " ": "blanks"}

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
        for place, (number, line) in enumerate(filled_lines(path)):
            separator = separator or next((mark for mark in ("\t", ",") if mark in line), " ")
            where = f"{path}: line {number}"
            fields = split(line, separator)
            if not self.columns[0] <= len(fields) <= self.columns[1] or not all(fields[:2]):
                wanted = f"two words, and the score in column {self.score + 1}"
                raise wrong_columns(len(fields), self.columns, wanted, where, BETWEEN[separator])
            score = as_number(fields[self.score])
            if score is None and place == 0:
                continue
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


SIMLEX = PairLayout("\t", score=3, columns=(4, 10))
MEN = PairLayout(" ", score=2, columns=(3, 3), tagged=True)
WORDSIM = PairLayout("\t", score=2, columns=(3, 3))
RARE_WORDS = PairLayout("\t", score=2, columns=(3, 13))
THREE_COLUMNS = PairLayout(None, score=2, columns=(3, 3))


def split(line: str, separator: str) -> list[str]:
    """Cut a line into fields; with commas, quotes hold a field together."""
    if separator == " ":
        return line.split()
    fields = next(csv.reader([line])) if separator == "," else line.split(separator)
    return [field.strip() for field in fields]


SCORES = ("cosine", "inner")
METRICS = tuple(f"{score}/{metric}" for score in SCORES for metric in ("pearson", "spearman"))
PROTOCOL = (
    "a pair counts where both words are in the vocabulary as they stand; cosine and inner product "
    "of their vectors against the human score; a correction is fitted on the whole vocabulary"
)


@dataclass(frozen=True)
class WordSimilarity(Task):
    """Word pairs with human scores."""

    pair_layout: PairLayout

    def load(self, folder: Path | None) -> list[WordPair]:
        """Read the pairs from the user's data folder."""
        path = self.find(folder)
        pairs = self.pair_layout.read(path)
        self.check_count(path, self.files[0], len(pairs))
        return pairs


@dataclass(frozen=True)
class OwnPairs(OwnFileTask, WordSimilarity):
    """Word pairs in a file of the user's own."""


def own_pairs(file: str) -> OwnPairs:
    """Make a task of a three-column file."""
    return OwnPairs(
        f"word-similarity:{Path(file).stem}", "word-similarity", (DataFile(file, None),),
        "three columns, two words and a number, with tabs, commas or blanks between them; a header "
        "line may come first",
        "pairs", "yours", "", PROTOCOL, METRICS, THREE_COLUMNS,
    )  # fmt: skip


register_opener("word-similarity", own_pairs)

register(
    WordSimilarity(
        "simlex-999", "word-similarity", (DataFile("SimLex-999.txt", 999),),
        "ten columns with tabs between them, the score (0-10) in the fourth",
        "pairs", "free to download, no licence in the release; not redistributed here",
        "Hill, Reichart & Korhonen (2015), SimLex-999: Evaluating semantic models with (genuine) "
        "similarity estimation, Computational Linguistics 41(4)",
        PROTOCOL, METRICS, SIMLEX,
    ),
    WordSimilarity(
        "men", "word-similarity", (DataFile("MEN_dataset_lemma_form_full", 3_000),),
        "word-n word-v score, with blanks between them, the score 0-50",
        "pairs", "see the notes of the release; not redistributed here",
        "Bruni, Tran & Baroni (2014), Multimodal distributional semantics, JAIR 49",
        PROTOCOL + "; the part of speech at the end of a word is left out",
        METRICS, MEN,
    ),
    *(
        WordSimilarity(
            f"wordsim-{_kind}", "word-similarity",
            (DataFile(f"wordsim_{_kind}_goldstandard.txt", _size),),
            "three columns with tabs between them, the score (0-10) in the third",
            "pairs", "see the notes of the release; not redistributed here",
            "Agirre et al. (2009), A study on similarity and relatedness using distributional and "
            "WordNet-based approaches, NAACL; pairs of Finkelstein et al. (2002)",
            PROTOCOL, METRICS, WORDSIM,
        )
        for _kind, _size in (("similarity", 203), ("relatedness", 252))
    ),
    WordSimilarity(
        "rare-words", "word-similarity", (DataFile("rw.txt", 2_034),),
        "ten to thirteen columns with tabs between them, the score (0-10) in the third",
        "pairs", "free to download, no licence in the release; not redistributed here",
        "Luong, Socher & Manning (2013), Better word representations with recursive neural "
        "networks for morphology, CoNLL",
        PROTOCOL, METRICS, RARE_WORDS,
    ),
)  # fmt: skip

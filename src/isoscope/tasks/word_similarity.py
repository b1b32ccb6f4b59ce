"""Word similarity: do vectors find those words alike that people find alike?

Five benchmarks, and files of one's own. A pair counts where both words have a vector; which and how
many do not is part of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.tasks import word_pairs
from isoscope.tasks.registry import DataFile, OwnFileTask, Task, register, register_opener

if TYPE_CHECKING:
    from isoscope.tasks.word_pairs import PairLayout, WordPair


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
        "pairs", "yours", "", PROTOCOL, METRICS, word_pairs.THREE_COLUMNS,
    )  # fmt: skip


register_opener("word-similarity", own_pairs)

register(
    WordSimilarity(
        "simlex-999", "word-similarity", (DataFile("SimLex-999.txt", 999),),
        "ten columns with tabs between them, the score (0-10) in the fourth",
        "pairs", "free to download, no licence in the release; not redistributed here",
        "Hill, Reichart & Korhonen (2015), SimLex-999: Evaluating semantic models with (genuine) "
        "similarity estimation, Computational Linguistics 41(4)",
        PROTOCOL, METRICS, word_pairs.SIMLEX,
    )
)  # fmt: skip
register(
    WordSimilarity(
        "men", "word-similarity", (DataFile("MEN_dataset_lemma_form_full", 3_000),),
        "word-n word-v score, with blanks between them, the score 0-50",
        "pairs", "see the notes of the release; not redistributed here",
        "Bruni, Tran & Baroni (2014), Multimodal distributional semantics, JAIR 49",
        PROTOCOL + "; the part of speech at the end of a word is left out",
        METRICS, word_pairs.MEN,
    )
)  # fmt: skip
register(
    WordSimilarity(
        "wordsim-similarity", "word-similarity",
        (DataFile("wordsim_similarity_goldstandard.txt", 203),),
        "three columns with tabs between them, the score (0-10) in the third",
        "pairs", "see the notes of the release; not redistributed here",
        "Agirre et al. (2009), A study on similarity and relatedness using distributional and "
        "WordNet-based approaches, NAACL; pairs of Finkelstein et al. (2002)",
        PROTOCOL, METRICS, word_pairs.WORDSIM,
    )
)  # fmt: skip
register(
    WordSimilarity(
        "wordsim-relatedness", "word-similarity",
        (DataFile("wordsim_relatedness_goldstandard.txt", 252),),
        "three columns with tabs between them, the score (0-10) in the third",
        "pairs", "see the notes of the release; not redistributed here",
        "Agirre et al. (2009), A study on similarity and relatedness using distributional and "
        "WordNet-based approaches, NAACL; pairs of Finkelstein et al. (2002)",
        PROTOCOL, METRICS, word_pairs.WORDSIM,
    )
)  # fmt: skip
register(
    WordSimilarity(
        "rare-words", "word-similarity", (DataFile("rw.txt", 2_034),),
        "ten to thirteen columns with tabs between them, the score (0-10) in the third",
        "pairs", "free to download, no licence in the release; not redistributed here",
        "Luong, Socher & Manning (2013), Better word representations with recursive neural "
        "networks for morphology, CoNLL",
        PROTOCOL, METRICS, word_pairs.RARE_WORDS,
    )
)  # fmt: skip

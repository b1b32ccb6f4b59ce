"""How good written texts are: BLEU of translations, ROUGE of summaries.

Both depend on how texts are cut into words, so that home-made figures compare with nobody's: they
are left to the packages that papers cite. BLEU is sacrebleu's, of the whole corpus, from 0 to 100;
its signature says how. ROUGE is the mean F-measure of ``rouge-score`` with its stemmer, from 0 to
1.

References
----------
Papineni et al. (2002), BLEU: a method for automatic evaluation of machine translation, ACL. Post
(2018), A call for clarity in reporting BLEU scores, WMT. Lin (2004), ROUGE: a package for automatic
evaluation of summaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUGE = ("rouge1", "rouge2", "rougeL")
SACREBLEU, ROUGE_SCORER = "sacrebleu.metrics", "rouge_score.rouge_scorer"
"""Modules of the packages that score."""


@dataclass(frozen=True)
class WrittenScore:
    """Scores by metric, the first decides; and how they were computed."""

    scores: dict[str, float]
    signature: str


def bleu(written: Sequence[str], references: Sequence[str]) -> WrittenScore:
    """Return BLEU of translations, one reference each."""
    metric = scoring_library(SACREBLEU).BLEU()
    found = metric.corpus_score(list(written), [list(references)])
    return WrittenScore({"bleu": float(found.score)}, f"sacrebleu {metric.get_signature()}")


def rouge(written: Sequence[str], references: Sequence[str]) -> WrittenScore:
    """Return ROUGE-1, ROUGE-2 and ROUGE-L of summaries, one reference each."""
    scorer = scoring_library(ROUGE_SCORER).RougeScorer(ROUGE, use_stemmer=True)
    found = [scorer.score(*pair) for pair in zip(references, written, strict=True)]
    means = {name: sum(one[name].fmeasure for one in found) / len(found) for name in ROUGE}
    return WrittenScore(means, "rouge-score, F-measure, stemmed, mean over texts")


def scoring_library(name: str) -> Any:
    """Import a package that scores, or say what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise UsageError(
            f"written texts are scored by {package}; pip install 'isoscope[training]'"
        ) from error

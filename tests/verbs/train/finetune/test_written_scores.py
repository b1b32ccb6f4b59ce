"""BLEU and ROUGE against their definitions, written out."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence

import pytest

from isoscope.errors import UsageError
from isoscope.verbs.train.finetune.generation import bleu, rouge

WRITTEN = ["a man in a blue shirt walks down the street", "two dogs run over the grass", "a boat"]
WANTED = ["a man in a red shirt walks down a street", "two dogs run across the grass", "a big boat"]


def grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[k : k + n]) for k in range(len(words) - n + 1))


def bleu_by_hand(written: list[str], wanted: list[str]) -> float:
    """Geometric mean of clipped precisions up to four words, times the brevity penalty."""
    logs = 0.0
    for n in range(1, 5):
        texts = zip(written, wanted, strict=True)
        pairs = [(grams(w.split(), n), grams(r.split(), n)) for w, r in texts]
        hits = sum((mine & other).total() for mine, other in pairs)
        logs += math.log(hits / sum(mine.total() for mine, _ in pairs)) / 4
    mine, other = (sum(len(text.split()) for text in texts) for texts in (written, wanted))
    return 100 * math.exp(logs + min(0.0, 1 - other / mine))


def f_measure(hits: int, mine: int, other: int) -> float:
    return 2 * hits / (mine + other)


def common_subsequence(one: list[str], other: list[str]) -> int:
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return 1 + common_subsequence(one[:-1], other[:-1])
    return max(common_subsequence(one[:-1], other), common_subsequence(one, other[:-1]))


def test_bleu_is_its_definition() -> None:
    pytest.importorskip("sacrebleu")
    found = bleu(WRITTEN, WANTED)
    assert found.scores["bleu"] == pytest.approx(bleu_by_hand(WRITTEN, WANTED), abs=1e-9)
    assert bleu(WANTED, WANTED).scores["bleu"] == pytest.approx(100)
    assert "tok:13a" in found.signature


def test_rouge_is_its_definition() -> None:
    pytest.importorskip("rouge_score")
    found = rouge(WRITTEN, WANTED).scores
    pairs = [(w.split(), r.split()) for w, r in zip(WRITTEN, WANTED, strict=True)]
    for n in (1, 2):
        each = [
            f_measure((grams(w, n) & grams(r, n)).total(), len(w) - n + 1, len(r) - n + 1)
            for w, r in pairs
        ]
        assert found[f"rouge{n}"] == pytest.approx(sum(each) / 3)
    each = [f_measure(common_subsequence(w[:8], r[:8]), len(w), len(r)) for w, r in pairs[1:]]
    assert rouge(WRITTEN[1:], WANTED[1:]).scores["rougeL"] == pytest.approx(sum(each) / 2)


def test_rouge_compares_stems() -> None:
    pytest.importorskip("rouge_score")
    assert rouge(["dogs running"], ["dog runs"]).scores["rouge1"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("score", "module", "package"),
    [(bleu, "sacrebleu.metrics", "sacrebleu"), (rouge, "rouge_score.rouge_scorer", "rouge-score")],
)
def test_a_package_that_is_missing(
    score: object, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf"{package}; pip install 'isoscope\[training\]'"):
        score(WRITTEN, WANTED)  # type: ignore[operator]

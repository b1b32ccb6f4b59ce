"""SICK: sentences that involve compositional knowledge, with relatedness and entailment.

The same rows serve two tasks: ``sick-r`` (relatedness, a score) and ``sick-e`` (entailment, one of
three classes).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from isoscope.errors import DataError
from isoscope.tasks.datasets.lines import as_label, as_score, check_texts, tab_rows
from isoscope.tasks.problems.classification import TextClassification
from isoscope.tasks.problems.pairs import SentenceSimilarity
from isoscope.tasks.registry import DataFile, LabelledText, TextPair, register

SCALE = (1.0, 5.0)
LABELS = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")
HEADER = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
FILES = (
    DataFile("SICK_train.txt", 4_500, "train"),
    DataFile("SICK_trial.txt", 500, "trial"),
    DataFile("SICK_test_annotated.txt", 4_927, "test"),
)
LAYOUT = (
    "five columns with tabs between them, pair_ID, sentence_A, sentence_B, relatedness_score (1-5) "
    "and entailment_judgment, and a header"
)
LICENCE = "CC BY-NC-SA 3.0; not redistributed here"
CITATION = (
    "Marelli et al. (2014), A SICK cure for the evaluation of compositional distributional "
    "semantic models, LREC"
)


def read_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Give out the place and the fields of every pair; a header may come first."""
    for number, fields in tab_rows(path, (5, 5), ", ".join(HEADER)):
        if number == 1 and fields[0].lower() == HEADER[0].lower():
            if [name.lower() for name in fields] != [name.lower() for name in HEADER]:
                raise DataError(f"{path}: line 1 should name the columns {', '.join(HEADER)}")
            continue
        where = f"{path}: line {number}"
        check_texts(fields[1:3], where)
        yield where, fields


def read_relatedness(path: Path, file: DataFile) -> list[TextPair]:
    """Read the pairs of a split with their score."""
    return [
        TextPair(first, second, as_score(score, SCALE, where), file.part)
        for where, (_, first, second, score, _) in read_rows(path)
    ]


def read_entailment(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read the pairs of a split with their class."""
    return [
        LabelledText(first, second, as_label(label, labels, where), file.part)
        for where, (_, first, second, _, label) in read_rows(path)
    ]


register(
    SentenceSimilarity(
        "sick-r", "sts", FILES, LAYOUT, "pairs", LICENCE, CITATION,
        "cosine of the two texts' vectors against the human score; all three splits together, as "
        "leaderboards do, and each by itself: papers often print test alone",
        ("cosine/spearman", "cosine/pearson"), read_relatedness,
    ),
    TextClassification(
        "sick-e", "classification", FILES, LAYOUT, "pairs", LICENCE, CITATION,
        "a classifier of the two texts' frozen features, fitted on train, chosen on trial, scored "
        "on test",
        ("accuracy",), read_entailment, LABELS, True,
    ),
)  # fmt: skip

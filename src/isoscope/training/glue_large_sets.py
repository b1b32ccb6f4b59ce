"""MNLI and QQP as GLUE released them: too large for frozen features, made for fine-tuning.

Their files have tabs and quote nothing, and many columns, of which the texts and the label count.
"""

from __future__ import annotations

from isoscope.tasks.glue_data import TWO, TWO_TEXTS, TabLayout
from isoscope.tasks.registry import DataFile
from isoscope.tasks.text_tasks import TextClassification

NLI = ("entailment", "neutral", "contradiction")
PARSES = (
    "index", "promptID", "pairID", "genre", "sentence1_binary_parse", "sentence2_binary_parse",
    "sentence1_parse", "sentence2_parse", "sentence1", "sentence2",
)  # fmt: skip
MNLI_TRAIN = TabLayout((*PARSES, "label1", "gold_label"), 8, 11, second=9)
MNLI_DEV = TabLayout((*PARSES, *(f"label{k}" for k in range(1, 6)), "gold_label"), 8, 15, second=9)
QQP = TabLayout(("id", "qid1", "qid2", "question1", "question2", "is_duplicate"), 3, 5, second=4)


def read_mnli(path, file, labels):  # type: ignore[no-untyped-def]
    """Read a split: those that are scored have the labels of five people."""
    return (MNLI_TRAIN if file.part == "train" else MNLI_DEV)(path, file, labels)


LARGE_SETS = {
    "mnli": TextClassification(
        "mnli", "classification",
        (
            DataFile("MNLI/train.tsv", 392_702, "train"),
            DataFile("MNLI/dev_matched.tsv", 9_815, "dev_matched"),
            DataFile("MNLI/dev_mismatched.tsv", 9_832, "dev_mismatched"),
        ),
        str(MNLI_TRAIN), "pairs", "sources of text with terms of their own; not redistributed here",
        "Williams, Nangia & Bowman (2018), A broad-coverage challenge corpus for sentence "
        "understanding through inference, NAACL",
        TWO_TEXTS, ("accuracy",), read_mnli, NLI, True,
    ),
    "qqp": TextClassification(
        "qqp", "classification",
        (
            DataFile("QQP/train.tsv", None, "train"),
            DataFile("QQP/dev.tsv", 40_430, "dev"),
        ),
        str(QQP), "pairs", "Quora's terms: no commercial use; not redistributed here",
        "Iyer, Dandekar & Csernai (2017), First Quora dataset release: question pairs",
        TWO_TEXTS, ("accuracy", "f1"), QQP, TWO, True,
    ),
}  # fmt: skip
"""By name; releases of QQP differ in the number of rows to learn from."""

"""SentEval's sentence classification sets, a label and a text a line.

Some files are Latin-1, others UTF-8, and U+0085 is a character of some texts: only a line feed ends
a line. A few rows have a label and no text; they count in the published numbers and are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from isoscope.tasks.datasets.lines import BLANKS, as_label, text_lines
from isoscope.tasks.problems.classification import TextClassification
from isoscope.tasks.registry import DataFile, LabelledText, part_files, register

# What the only part of a set without splits is called.
ALL = "all"

LAYOUT = "on each line a label, a blank and the text; Latin-1 or UTF-8"
CROSS = "a classifier of the text's frozen features, cross-validated, as the release has no splits"
SPLIT = "a classifier of the text's frozen features, fitted on train and scored on test"
SENTEVAL = "; in SentEval: Conneau & Kiela (2018), LREC"
TERMS = "no licence in the release; not redistributed here"


def read_senteval(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read a file of labels and texts."""
    examples = []
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip(BLANKS):
            continue
        label, _, text = line.partition(" ")
        label = as_label(label, labels, f"{path}: line {number}")
        examples.append(LabelledText(text.strip(BLANKS), None, label, file.part))
    return examples


for _name, _file, _size, _meaning, _citation in (
    (
        "mr", "rt-polarity.all", 10_662, "0 a bad review, 1 a good one",
        "Pang & Lee (2005), Seeing stars: exploiting class relationships for sentiment "
        "categorization with respect to rating scales, ACL",
    ),
    (
        "cr", "custrev.all", 3_775, "0 a bad review, 1 a good one",
        "Hu & Liu (2004), Mining and summarizing customer reviews, KDD",
    ),
    (
        "subj", "subj.all", 10_000, "0 subjective, 1 objective",
        "Pang & Lee (2004), A sentimental education: sentiment analysis using subjectivity "
        "summarization based on minimum cuts, ACL",
    ),
    (
        "mpqa", "mpqa.all", 10_606, "0 a bad opinion, 1 a good one",
        "Wiebe, Wilson & Cardie (2005), Annotating expressions of opinions and emotions in "
        "language, Language Resources and Evaluation 39",
    ),
):  # fmt: skip
    register(
        TextClassification(
            _name, "classification", (DataFile(_file, _size, ALL),), f"{LAYOUT}; {_meaning}",
            "texts", TERMS, _citation + SENTEVAL, CROSS, ("accuracy",),
            read_senteval, ("0", "1"), False,
        )
    )  # fmt: skip

register(
    TextClassification(
        "trec", "classification",
        part_files("TREC.{}.all", {"train": 5_452, "test": 500}),
        f"{LAYOUT}; the answer is 0 a description, 1 an entity, 2 an abbreviation, 3 a person, "
        "4 a place, 5 a number",
        "questions", TERMS,
        "Li & Roth (2002), Learning question classifiers, COLING" + SENTEVAL,
        SPLIT + "; settings chosen by cross-validation on train", ("accuracy",),
        read_senteval, ("0", "1", "2", "3", "4", "5"), False,
    ),
    TextClassification(
        "sst-5", "classification",
        part_files("stsa.fine.{}", {"train": 8_544, "dev": 1_101, "test": 2_210}),
        f"{LAYOUT}; 0 a very bad review to 4 a very good one", "sentences", TERMS,
        "Socher et al. (2013), Recursive deep models for semantic compositionality over a "
        "sentiment treebank, EMNLP" + SENTEVAL,
        SPLIT + "; settings chosen on dev", ("accuracy",),
        read_senteval, ("0", "1", "2", "3", "4"), False,
    ),
)  # fmt: skip

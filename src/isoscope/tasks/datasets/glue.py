"""Classification sets of GLUE, as its own files have them, and samples of three larger ones.

GLUE's files have tabs and quote nothing. The test files have no labels and are not read.

BoolQ: yes/no questions about a passage, as SuperGLUE has them.

MNLI and QQP as GLUE released them: too large for frozen features, made for fine-tuning.

Their files have tabs and quote nothing, and many columns, of which the texts and the label count.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from isoscope.errors import DataError
from isoscope.tasks.datasets.lines import json_rows, json_text, labelled_text, read_text, tab_rows
from isoscope.tasks.problems.classification import TextClassification
from isoscope.tasks.registry import DataFile, LabelledText, register

ONE_TEXT = (
    "a classifier of the text's frozen features, fitted on train and scored on dev, as the labels "
    "of test are not public"
)
TWO_TEXTS = ONE_TEXT.replace("the text's", "the two texts'")
GLUE = "; in GLUE: Wang et al. (2019), ICLR"
TWO = ("0", "1")
ENTAILED = ("entailment", "not_entailment")


@dataclass(frozen=True)
class TabLayout:
    """Which columns of a file hold what.

    Attributes
    ----------
    columns : tuple of str
        The columns' names, as the header writes them.
    first, label : int
        Columns of the text and of its label.
    second : int or None
        Column of the second text, if there is one.
    header : bool
        Whether the release has a header; where it has, a copy without one is read as well.
    """

    columns: tuple[str, ...]
    first: int
    label: int
    second: int | None = None
    header: bool = True

    def __call__(self, path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
        """Read the examples of one file."""
        width = (len(self.columns), len(self.columns))
        examples = []
        for number, fields in tab_rows(path, width, ", ".join(self.columns)):
            if self.header and number == 1 and fields[self.label] == self.columns[self.label]:
                continue
            columns = (self.first,) if self.second is None else (self.first, self.second)
            texts = tuple(fields[column] for column in columns)
            where = f"{path}: line {number}"
            examples.append(labelled_text(texts, fields[self.label], labels, where, file.part))
        return examples

    def __str__(self) -> str:
        header = "with a header" if self.header else "without a header"
        return (
            f"{len(self.columns)} columns with tabs between them and nothing quoted, {header}: "
            f"{', '.join(self.columns)}"
        )


def read_sample(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read a JSON object of numbered examples, each with ``text_a``, ``text_b`` and ``label``."""
    try:
        everything = json.loads(read_text(path))
    except ValueError as error:
        raise DataError(f"{path} is no JSON: {error}") from error
    if not isinstance(everything, dict):
        raise DataError(f"{path} should be a JSON object of numbered examples")
    examples = []
    for number, row in everything.items():
        where = f"{path}: example {number!r}"
        if not isinstance(row, dict):
            raise DataError(f"{where} should be a JSON object")
        texts = tuple(json_text(row, key, where) for key in ("text_a", "text_b"))
        label = json_text(row, "label", where)
        examples.append(labelled_text(texts, label, labels, where, file.part))
    return examples


def splits(folder: str, train: int, dev: int, *, ending: str = "tsv") -> tuple[DataFile, DataFile]:
    """Name the two files with labels."""
    return (
        DataFile(f"{folder}/train.{ending}", train, "train"),
        DataFile(f"{folder}/dev.{ending}", dev, "dev"),
    )


COLA = TabLayout(("source", "label", "author's mark", "sentence"), first=3, label=1, header=False)
SST_2 = TabLayout(("sentence", "label"), first=0, label=1)
MRPC = TabLayout(("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"), 3, 0, second=4)
TWO_SENTENCES = TabLayout(("index", "sentence1", "sentence2", "label"), 1, 3, second=2)
QNLI = TabLayout(("index", "question", "sentence", "label"), 1, 3, second=2)
SAMPLE = "a JSON object of numbered examples, each an object with text_a, text_b and label"

LABELS = ("true", "false")


def read_boolq(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read a split: a JSON object a line, whose label is a truth value or its name."""
    examples = []
    for number, row in json_rows(path):
        where = f"{path}: line {number}"
        texts = tuple(json_text(row, key, where) for key in ("question", "passage"))
        answer = row.get("label")
        label = str(answer).lower() if isinstance(answer, bool) else json_text(row, "label", where)
        examples.append(labelled_text(texts, label, labels, where, file.part))
    return examples


NLI = ("entailment", "neutral", "contradiction")
MNLI_CITATION = (
    "Williams, Nangia & Bowman (2018), A broad-coverage challenge corpus for sentence "
    "understanding through inference, NAACL"
)
QQP_CITATION = "Iyer, Dandekar & Csernai (2017), First Quora dataset release: question pairs"
QNLI_CITATION = (
    "Rajpurkar et al. (2016), SQuAD: 100,000+ questions for machine comprehension of text, EMNLP"
    + GLUE
)

register(
    TextClassification(
        "boolq", "classification",
        (
            DataFile("BoolQ/train.jsonl", 9_427, "train", optional=True),
            DataFile("BoolQ/val.jsonl", 3_270, "val"),
        ),
        "a JSON object a line with question, passage and label (true or false)",
        "questions", "CC BY-SA 3.0; not redistributed here",
        "Clark et al. (2019), BoolQ: Exploring the surprising difficulty of natural yes/no "
        "questions, NAACL; in SuperGLUE: Wang et al. (2019), NeurIPS",
        "a classifier of the frozen features of question and passage, fitted on train and scored "
        "on val; without train, cross-validated on val",
        ("accuracy",), read_boolq, LABELS, True,
    ),
    TextClassification(
        "cola", "classification", splits("CoLA", 8_551, 1_043), str(COLA), "sentences",
        "no licence in the release, texts from published linguistics; not redistributed here",
        "Warstadt, Singh & Bowman (2019), Neural network acceptability judgments, TACL 7" + GLUE,
        ONE_TEXT, ("matthews", "accuracy"), COLA, TWO, False,
    ),
    TextClassification(
        "sst-2", "classification", splits("SST-2", 67_349, 872), str(SST_2), "sentences",
        "no licence in the release; not redistributed here",
        "Socher et al. (2013), Recursive deep models for semantic compositionality over a "
        "sentiment treebank, EMNLP" + GLUE,
        ONE_TEXT, ("accuracy",), SST_2, TWO, False,
    ),
    TextClassification(
        "mrpc", "classification", splits("MRPC", 3_668, 408), str(MRPC), "pairs",
        "Microsoft Research's own terms; not redistributed here",
        "Dolan & Brockett (2005), Automatically constructing a corpus of sentential paraphrases, "
        "IWP" + GLUE,
        TWO_TEXTS, ("accuracy", "f1"), MRPC, TWO, True,
    ),
    TextClassification(
        "rte", "classification", splits("RTE", 2_490, 277), str(TWO_SENTENCES), "pairs",
        "see the notes of the PASCAL challenges; not redistributed here",
        "Dagan et al. (2006), Bar Haim et al. (2006), Giampiccolo et al. (2007), Bentivogli et al. "
        "(2009), the PASCAL recognising textual entailment challenges" + GLUE,
        TWO_TEXTS, ("accuracy",), TWO_SENTENCES, ENTAILED, True,
    ),
    TextClassification(
        "wnli", "classification", splits("WNLI", 635, 71), str(TWO_SENTENCES), "pairs",
        "CC BY 4.0; not redistributed here",
        "Levesque, Davis & Morgenstern (2012), The Winograd schema challenge, KR" + GLUE,
        TWO_TEXTS + "; most first sentences of dev are in train too, with another second one",
        ("accuracy",), TWO_SENTENCES, TWO, True,
    ),
    TextClassification(
        "qnli", "classification",
        (
            DataFile("QNLI/train.tsv", 104_743, "train", optional=True),
            DataFile("QNLI/dev.tsv", 5_463, "dev"),
        ),
        str(QNLI), "pairs", "CC BY-SA 4.0; not redistributed here", QNLI_CITATION,
        TWO_TEXTS + "; without train, cross-validated on dev",
        ("accuracy",), QNLI, ENTAILED, True,
    ),
)  # fmt: skip
for _name, _labels, _metrics, _licence, _citation in (
    (
        "MNLI", NLI, ("accuracy",), "sources of text with terms of their own",
        MNLI_CITATION + GLUE,
    ),
    (
        "QQP", TWO, ("accuracy", "f1"), "Quora's terms: no commercial use", QQP_CITATION + GLUE,
    ),
    ("QNLI", ENTAILED, ("accuracy",), "CC BY-SA 4.0", QNLI_CITATION),
):  # fmt: skip
    register(
        TextClassification(
            f"{_name.lower()}-sample", "classification",
            splits(f"{_name}-sample", 8_999, 1_000, ending="json"), SAMPLE, "pairs",
            f"{_licence}; not redistributed here", _citation,
            f"{TWO_TEXTS}; a sample of {_name}: scores are not those of the whole set",
            _metrics, read_sample, _labels, True,
        )
    )  # fmt: skip


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
        MNLI_CITATION, TWO_TEXTS, ("accuracy",), read_mnli, NLI, True,
    ),
    "qqp": TextClassification(
        "qqp", "classification",
        (
            DataFile("QQP/train.tsv", None, "train"),
            DataFile("QQP/dev.tsv", 40_430, "dev"),
        ),
        str(QQP), "pairs", "Quora's terms: no commercial use; not redistributed here",
        QQP_CITATION, TWO_TEXTS, ("accuracy", "f1"), QQP, TWO, True,
    ),
}  # fmt: skip
"""By name; releases of QQP differ in the number of rows to learn from."""

"""Classification sets of GLUE as their own files have them, BoolQ, and samples of three others.

GLUE's files have tabs and quote nothing. The test files have no labels and are not read. MNLI and
QQP are too large for frozen features: as a whole they are for fine-tuning alone. BoolQ, yes/no
questions about a passage, is as SuperGLUE released it.

References
----------
Wang et al. (2019), GLUE: A multi-task benchmark and analysis platform for natural language
understanding, ICLR. Wang et al. (2019), SuperGLUE, NeurIPS.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from isoscope.errors import DataError, plain_reason
from isoscope.tasks.datasets.lines import json_rows, json_text, labelled_text, read_text, tab_rows
from isoscope.tasks.problems.classification import TextClassification
from isoscope.tasks.registry import DataFile, LabelledText, part_files, register

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
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {plain_reason(error)}") from error
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


def tab_task(
    name: str,
    files: tuple[DataFile, ...],
    layout: TabLayout,
    licence: str,
    citation: str,
    *,
    note: str = "",
    metrics: tuple[str, ...] = ("accuracy",),
    labels: tuple[str, ...] = TWO,
) -> TextClassification:
    """Make a task of files with tabs, whose layout says whether an example is one text or two."""
    pairs = layout.second is not None
    return TextClassification(
        name, "classification", files, str(layout), "pairs" if pairs else "sentences",
        f"{licence}; not redistributed here", citation,
        (TWO_TEXTS if pairs else ONE_TEXT) + note, metrics, layout, labels, pairs,
    )  # fmt: skip


register(
    TextClassification(
        "boolq", "classification",
        part_files("BoolQ/{}.jsonl", {"train": 9_427, "val": 3_270}, optional=["train"]),
        "on each line a JSON object with question, passage and label (true or false)",
        "questions", "CC BY-SA 3.0; not redistributed here",
        "Clark et al. (2019), BoolQ: Exploring the surprising difficulty of natural yes/no "
        "questions, NAACL; in SuperGLUE: Wang et al. (2019), NeurIPS",
        "a classifier of the frozen features of question and passage, fitted on train and scored "
        "on val; without train, cross-validated on val",
        ("accuracy",), read_boolq, LABELS, True,
    ),
    tab_task(
        "cola", part_files("CoLA/{}.tsv", {"train": 8_551, "dev": 1_043}), COLA,
        "no licence in the release, texts from published linguistics",
        "Warstadt, Singh & Bowman (2019), Neural network acceptability judgments, TACL 7" + GLUE,
        metrics=("matthews", "accuracy"),
    ),
    tab_task(
        "sst-2", part_files("SST-2/{}.tsv", {"train": 67_349, "dev": 872}), SST_2,
        "no licence in the release",
        "Socher et al. (2013), Recursive deep models for semantic compositionality over a "
        "sentiment treebank, EMNLP" + GLUE,
    ),
    tab_task(
        "mrpc", part_files("MRPC/{}.tsv", {"train": 3_668, "dev": 408}), MRPC,
        "Microsoft Research's own terms",
        "Dolan & Brockett (2005), Automatically constructing a corpus of sentential paraphrases, "
        "IWP" + GLUE,
        metrics=("accuracy", "f1"),
    ),
    tab_task(
        "rte", part_files("RTE/{}.tsv", {"train": 2_490, "dev": 277}), TWO_SENTENCES,
        "see the notes of the PASCAL challenges",
        "Dagan et al. (2006), Bar Haim et al. (2006), Giampiccolo et al. (2007), Bentivogli et al. "
        "(2009), the PASCAL recognising textual entailment challenges" + GLUE,
        labels=ENTAILED,
    ),
    tab_task(
        "wnli", part_files("WNLI/{}.tsv", {"train": 635, "dev": 71}), TWO_SENTENCES, "CC BY 4.0",
        "Levesque, Davis & Morgenstern (2012), The Winograd schema challenge, KR" + GLUE,
        note="; most first sentences of dev are in train too, with a different second sentence",
    ),
    tab_task(
        "qnli",
        part_files("QNLI/{}.tsv", {"train": 104_743, "dev": 5_463}, optional=["train"]),
        QNLI, "CC BY-SA 4.0", QNLI_CITATION,
        note="; without train, cross-validated on dev", labels=ENTAILED,
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
            part_files(f"{_name}-sample/{{}}.json", {"train": 8_999, "dev": 1_000}),
            SAMPLE, "pairs", f"{_licence}; not redistributed here", _citation,
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


def read_mnli(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read a split: those that are scored have the labels of five people."""
    return (MNLI_TRAIN if file.part == "train" else MNLI_DEV)(path, file, labels)


MNLI_SIZES = {"train": 392_702, "dev_matched": 9_815, "dev_mismatched": 9_832}

# By name; releases of QQP differ in the number of rows to learn from.
LARGE_SETS = {
    "mnli": replace(
        tab_task(
            "mnli", part_files("MNLI/{}.tsv", MNLI_SIZES), MNLI_TRAIN,
            "sources of text with terms of their own", MNLI_CITATION, labels=NLI,
        ),
        reader=read_mnli,
    ),
    "qqp": tab_task(
        "qqp", part_files("QQP/{}.tsv", {"train": None, "dev": 40_430}), QQP,
        "Quora's terms: no commercial use", QQP_CITATION, metrics=("accuracy", "f1"),
    ),
}  # fmt: skip

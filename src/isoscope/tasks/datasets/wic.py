"""WiC: does a word mean the same in two sentences?"""

from __future__ import annotations

import re
from pathlib import Path

from isoscope.errors import DataError
from isoscope.tasks.datasets.lines import as_label, parallel_lines
from isoscope.tasks.problems.word_senses import WordSense
from isoscope.tasks.registry import DataFile, WordInContext, part_files, register

COLUMNS = "word, part of speech, two indices such as 2-1, and two sentences"
INDICES = re.compile(r"(\d+)-(\d+)")
TOKEN = re.compile(r"\S+")
SAME = {"T": True, "F": False}


def read_wic(path: Path, file: DataFile) -> list[WordInContext]:
    """Read a split: a file of sentences, and one of labels beside it.

    Sentences are kept as they stand, as the words' places are counted in them.
    """
    gold = path.with_name(file.beside)
    examples = []
    for number, line, label in parallel_lines(path, gold):
        where = f"{path}: line {number}"
        fields = line.split("\t")
        if len(fields) != 5:
            raise DataError(f"{where} has {len(fields)} columns; expected 5 with tabs: {COLUMNS}")
        word, part_of_speech, written, first, second = fields
        indices = INDICES.fullmatch(written.strip())
        if indices is None:
            raise DataError(f"{where}: column 3 should be two indices such as 2-1, not {written!r}")
        here, there = int(indices[1]), int(indices[2])
        same = SAME[as_label(label.strip(), SAME, f"{gold}: line {number}")]
        examples.append(
            WordInContext(
                word, part_of_speech, first, second, here, there,
                span(first, here, where), span(second, there, where), same, file.part,
            )
        )  # fmt: skip
    return examples


def span(sentence: str, index: int, where: str) -> tuple[int, int]:
    """Tell where a token begins and ends; tokens have whitespace between them, and count from 0."""
    tokens = list(TOKEN.finditer(sentence))
    if index >= len(tokens):
        raise DataError(
            f"{where}: there is no token {index} in {sentence!r}, which has {len(tokens)}"
        )
    return tokens[index].span()


register(
    WordSense(
        "wic", "wic",
        part_files(
            "{0}/{0}.data.txt", {"train": 5_428, "dev": 638, "test": 1_400}, beside="{0}.gold.txt"
        ),
        f"five columns with tabs between them, {COLUMNS}; the labels T or F in a file beside it",
        "pairs of sentences", "CC BY-NC 4.0; not redistributed here",
        "Pilehvar & Camacho-Collados (2019), WiC: the word-in-context dataset for evaluating "
        "context-sensitive meaning representations, NAACL",
        "the same meaning where the cosine of the word's two vectors is above a threshold; layer "
        "and threshold chosen on one split and scored on another, or both on what is scored",
        ("accuracy",), read_wic,
    )
)  # fmt: skip
